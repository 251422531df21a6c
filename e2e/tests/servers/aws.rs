//! docs/cookbook/aws.md: resources of AWS by signed requests, against a server that checks each signature.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use drift_e2e::process::run_folder::target_folder;
use drift_e2e::process::{Launch, Process};
use drift_e2e::world::World;
use serde_json::json;

use crate::installed::{self, serving};
use crate::page;

/// Requests before the server checks signatures: those that make the two users.
const UNCHECKED: &str = "6";
const REGION: &str = "eu-central-1";
/// With the account of the server, which is on the page too.
const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/";

/// An access key of a user.
#[derive(Clone)]
struct AccessKey {
    id: String,
    secret: String,
}

/// A server with the APIs of AWS, and a user for each program.
struct Aws {
    folder: PathBuf,
    address: String,
    process: Process,
    reader: AccessKey,
    writer: AccessKey,
}

impl Aws {
    async fn start(world: &World) -> Result<Self> {
        let (folder, address) = (world.folder().to_owned(), world.free_listen_address()?);
        let (host, port) = address.split_once(':').context("no port")?;
        let server =
            Launch::new("moto_server", environment()?.join("bin/moto_server")).arguments(["-H", host, "-p", port]);
        let process = serving(server.variable("INITIAL_NO_AUTH_ACTION_COUNT", UNCHECKED), &folder, &address).await?;
        let nobody = AccessKey { id: "none".to_owned(), secret: "none".to_owned() };
        let mut aws = Self { folder, address, process, reader: nobody.clone(), writer: nobody };
        aws.reader = aws.create_user("reader", "sqs:Get*").await?;
        aws.writer = aws.create_user("writer", "sqs:*").await?;
        Ok(aws)
    }

    /// Calls the APIs like an administrator, with another signer than that of the programs. Returns what the call prints.
    async fn call(&self, statements: &str) -> Result<String> {
        let script = format!(
            "import boto3\nsqs, iam = (boto3.client(api, endpoint_url='http://{}') for api in ('sqs', 'iam'))\n{statements}",
            self.address
        );
        let launch = Launch::new("boto3", environment()?.join("bin/python")).arguments(["-c", &script]);
        let launch = launch.variable("AWS_ACCESS_KEY_ID", &self.writer.id).variable("AWS_DEFAULT_REGION", REGION);
        installed::run(launch.variable("AWS_SECRET_ACCESS_KEY", &self.writer.secret), &self.folder).await?;
        Ok(fs::read_to_string(self.folder.join("boto3.log"))?)
    }

    /// Creates a user that may do this.
    async fn create_user(&self, name: &str, action: &str) -> Result<AccessKey> {
        let statement = json!({"Effect": "Allow", "Action": action, "Resource": "*"});
        let policy = json!({"Version": "2012-10-17", "Statement": [statement]});
        let script = format!(
            "iam.create_user(UserName='{name}')\n\
             iam.put_user_policy(UserName='{name}', PolicyName='all', PolicyDocument='{policy}')\n\
             key = iam.create_access_key(UserName='{name}')['AccessKey']\n\
             print('key', key['AccessKeyId'], key['SecretAccessKey'])"
        );
        let printed = self.call(&script).await?;
        let key = printed.lines().rev().find_map(|line| line.strip_prefix("key ")?.split_once(' '));
        let (id, secret) = key.with_context(|| format!("no key in {printed}"))?;
        Ok(AccessKey { id: id.to_owned(), secret: secret.to_owned() })
    }
}

/// The Python environment with the server.
fn environment() -> Result<PathBuf> {
    let folder = target_folder()?.join("moto");
    ensure!(folder.join("bin/moto_server").is_file(), "there is no {}: .ci/servers makes it", folder.display());
    Ok(folder)
}

#[tokio::test]
async fn a_queue_of_aws_is_kept() -> Result<()> {
    World::run("aws", async |world| {
        let mut aws = Aws::start(world).await?;
        let name = format!("{}-orders", world.objects_namespace());
        let host = format!("http://{}", aws.address);
        let keys = [&aws.reader, &aws.writer].map(|key| (key.id.clone(), key.secret.clone()));
        let replaced = [
            ("https://sqs.eu-central-1.amazonaws.com", host.as_str()),
            ("sqs.eu-central-1.amazonaws.com", &aws.address),
            ("id-of-reader", &keys[0].0),
            ("key-of-reader", &keys[0].1),
            ("id-of-writer", &keys[1].0),
            ("key-of-writer", &keys[1].1),
        ];
        let subject = page::follow(world, "aws.md", &replaced).await?;
        subject.wait_until_healed_by(1).await?;

        let history = subject.watch().await?;
        let url = format!("{QUEUE}{name}");
        let change = format!("sqs.set_queue_attributes(QueueUrl='{url}', Attributes={{'VisibilityTimeout': '7'}})");
        aws.call(&change).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        aws.call(&format!("sqs.delete_queue(QueueUrl='{url}')")).await?;
        history.wait_for_transitions("driftObserved", &[("True", "ExternalMissing"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(3).await?;

        // Another's key: no drift, and nothing is sent.
        let read_with = |key: &str| {
            world.apply_credential("aws-read", "poller", json!({"accessKeyId": keys[0].0, "secretAccessKey": key}))
        };
        read_with("wrong").await?;
        subject.wait_for_verdict("Unknown/Unauthorized").await?;
        read_with(&keys[0].1).await?;
        subject.wait_until_healed_by(3).await?;

        aws.process.pause().await?;
        subject.wait_for_verdict("Unknown/PollTimedOut").await?;
        aws.process.resume()?;
        let last = subject.wait_until_healed_by(3).await?;

        subject.delete().await?;
        aws.call(&format!("assert not sqs.list_queues(QueueNamePrefix='{name}').get('QueueUrls')")).await?;
        let logs = ["drift-poller.log", "drift-controller.log"].map(|log| fs::read_to_string(aws.folder.join(log)));
        for (_, key) in &keys {
            ensure!(!last.to_string().contains(key), "a key in {last}");
            for log in &logs {
                ensure!(log.as_ref().is_ok_and(|text| !text.contains(key)), "a key in a log, or no log");
            }
        }
        Ok(())
    })
    .await
}
