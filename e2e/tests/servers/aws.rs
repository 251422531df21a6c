//! docs/cookbook/aws.md: resources of AWS by signed requests, against a server that checks each signature.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use drift_e2e::process::run_folder::target_folder;
use drift_e2e::process::{Launch, Process};
use drift_e2e::programs::{Options, Which};
use drift_e2e::systems::outside::Answer;
use drift_e2e::wait::{self, Seen};
use drift_e2e::world::World;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::installed::{self, serving};
use crate::page::{self, Subject};

/// Requests before the server checks signatures: those that make the users and the role.
const UNCHECKED: &str = "9";
/// The actions that the poller calls.
const READING: &[&str] = &["sqs:Get*", "elasticloadbalancing:Describe*", "route53:List*", "s3:Get*", "ec2:Describe*"];
const REGION: &str = "eu-central-1";
/// Life of the temporary keys: two intervals of the page.
const LIFE: SignedDuration = SignedDuration::from_secs(6);
/// The projected token of the ServiceAccount.
const TOKEN: &str = "canary-8d1f-token";
const HOST: &str = "sqs.eu-central-1.amazonaws.com";
/// With the account of the server, which is on the page too.
const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/";

/// An access key of a user.
#[derive(Clone)]
pub(crate) struct AccessKey {
    pub(crate) id: String,
    pub(crate) secret: String,
}

/// A server with the APIs of AWS, and a user for each program.
pub(crate) struct Aws {
    folder: PathBuf,
    pub(crate) address: String,
    pub(crate) process: Process,
    pub(crate) reader: AccessKey,
    pub(crate) writer: AccessKey,
    /// A session of a role that may read.
    session: Session,
}

/// Temporary keys.
#[derive(Clone)]
struct Session {
    key: AccessKey,
    token: String,
}

impl Aws {
    pub(crate) async fn start(world: &World) -> Result<Self> {
        let (folder, address) = (world.folder().to_owned(), world.free_listen_address()?);
        let (host, port) = address.split_once(':').context("no port")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("servers/moto_server.py");
        let server = Launch::new("moto_server", environment()?.join("bin/python")).argument(script);
        let server = server.arguments(["-H", host, "-p", port]);
        let process = serving(server.variable("INITIAL_NO_AUTH_ACTION_COUNT", UNCHECKED), &folder, &address).await?;
        let unchecked = AccessKey { id: "none".to_owned(), secret: "none".to_owned() };
        let session = Session { key: unchecked.clone(), token: String::new() };
        let mut aws = Self { folder, address, process, reader: unchecked.clone(), writer: unchecked, session };
        aws.session = aws.assume_role(READING).await?;
        aws.reader = aws.create_user("reader", READING).await?;
        aws.writer = aws.create_user("writer", &["*"]).await?;
        Ok(aws)
    }

    /// The URL of all APIs.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Applies the page of the queue.
    async fn apply(&self, world: &World, replaced: &[(&str, &str)]) -> Result<Subject> {
        let url = self.url();
        let hosts = [("https://sqs.eu-central-1.amazonaws.com", url.as_str()), (HOST, &self.address)];
        page::apply_all(world, self.documents(world, "aws.md", &[replaced, &hosts].concat())?).await
    }

    /// Returns the documents of a page, in the world's own group and with the users' keys.
    pub(crate) fn documents(&self, world: &World, page: &str, replaced: &[(&str, &str)]) -> Result<Vec<Value>> {
        let roles = ["poller", "controller"].map(|program| format!("drift-{program}-{}", world.objects_namespace()));
        let own = [
            ("aws.example", world.group()),
            ("drift-poller-aws", &roles[0]),
            ("drift-controller-aws", &roles[1]),
            ("id-of-reader", &self.reader.id),
            ("key-of-reader", &self.reader.secret),
            ("id-of-writer", &self.writer.id),
            ("key-of-writer", &self.writer.secret),
        ];
        page::documents(world, page, &[replaced, &own].concat())
    }

    /// Calls the APIs like an administrator, with another signer than that of the programs. Returns what the call prints.
    pub(crate) async fn call(&self, statements: &str) -> Result<String> {
        let script = format!(
            "import boto3\nclient = lambda api: boto3.client(api, endpoint_url='http://{}')\n{statements}",
            self.address
        );
        let launch = Launch::new("boto3", environment()?.join("bin/python")).arguments(["-c", &script]);
        let launch = launch.variable("AWS_ACCESS_KEY_ID", &self.writer.id).variable("AWS_DEFAULT_REGION", REGION);
        installed::run(launch.variable("AWS_SECRET_ACCESS_KEY", &self.writer.secret), &self.folder).await?;
        Ok(fs::read_to_string(self.folder.join("boto3.log"))?)
    }

    /// Creates a role that may do this, and begins a session of it.
    async fn assume_role(&self, actions: &[&str]) -> Result<Session> {
        let policy = policy(actions);
        let script = format!(
            "role = client('iam').create_role(RoleName='role', AssumeRolePolicyDocument='{policy}')['Role']['Arn']\n\
             client('iam').put_role_policy(RoleName='role', PolicyName='all', PolicyDocument='{policy}')\n\
             key = client('sts').assume_role_with_web_identity(\
                 RoleArn=role, RoleSessionName='any', WebIdentityToken='some')['Credentials']\n\
             print('key', key['AccessKeyId'], key['SecretAccessKey'], key['SessionToken'])"
        );
        let (key, token) = key_of(&self.call(&script).await?)?;
        Ok(Session { key, token })
    }

    /// Creates a user that may do this.
    async fn create_user(&self, name: &str, actions: &[&str]) -> Result<AccessKey> {
        let policy = policy(actions);
        let script = format!(
            "client('iam').create_user(UserName='{name}')\n\
             client('iam').put_user_policy(UserName='{name}', PolicyName='all', PolicyDocument='{policy}')\n\
             key = client('iam').create_access_key(UserName='{name}')['AccessKey']\n\
             print('key', key['AccessKeyId'], key['SecretAccessKey'])"
        );
        key_of(&self.call(&script).await?).map(|(key, _)| key)
    }
}

/// A policy that allows this.
fn policy(actions: &[&str]) -> Value {
    let statement = json!({"Effect": "Allow", "Action": actions, "Resource": "*"});
    json!({"Version": "2012-10-17", "Statement": [statement]})
}

/// The printed key, and its session token.
fn key_of(printed: &str) -> Result<(AccessKey, String)> {
    let key = printed.lines().rev().find_map(|line| line.strip_prefix("key "));
    let mut parts = key.with_context(|| format!("no key in {printed}"))?.split(' ').map(str::to_owned);
    let (id, secret) = (parts.next().context("no id")?, parts.next().context("no key")?);
    Ok((AccessKey { id, secret }, parts.next().unwrap_or_default()))
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
        let subject = aws.apply(world, &[]).await?;
        world.start_both().await?;
        subject.wait_until_healed_by(1).await?;

        let history = subject.watch().await?;
        let url = format!("{QUEUE}{name}");
        let change =
            format!("client('sqs').set_queue_attributes(QueueUrl='{url}', Attributes={{'VisibilityTimeout': '7'}})");
        aws.call(&change).await?;
        history.wait_for_transitions("driftObserved", &[("True", "FieldsDiffer"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(2).await?;
        aws.call(&format!("client('sqs').delete_queue(QueueUrl='{url}')")).await?;
        history.wait_for_transitions("driftObserved", &[("True", "ExternalMissing"), ("False", "InSync")]).await?;
        subject.wait_until_healed_by(3).await?;

        // Another's key: no drift, and nothing is sent.
        let read_with = |key: &str| {
            world.apply_credential("aws-read", "poller", json!({"accessKeyId": aws.reader.id, "secretAccessKey": key}))
        };
        read_with("wrong").await?;
        subject.wait_for_verdict("Unknown/Forbidden").await?;
        read_with(&aws.reader.secret).await?;
        subject.wait_until_healed_by(3).await?;

        aws.process.pause().await?;
        subject.wait_for_verdict("Unknown/PollTimedOut").await?;
        aws.process.resume()?;
        let last = subject.wait_until_healed_by(3).await?;

        subject.delete().await?;
        aws.call(&format!("assert not client('sqs').list_queues(QueueNamePrefix='{name}').get('QueueUrls')")).await?;
        let logs = ["drift-poller.log", "drift-controller.log"].map(|log| fs::read_to_string(aws.folder.join(log)));
        for key in [&aws.reader.secret, &aws.writer.secret] {
            ensure!(!last.to_string().contains(key), "a key in {last}");
            for log in &logs {
                ensure!(log.as_ref().is_ok_and(|text| !text.contains(key)), "a key in a log, or no log");
            }
        }
        Ok(())
    })
    .await
}

/// The answer of the server that exchanges tokens, as AWS documents it.
fn exchanged(session: &Session) -> Answer {
    let ends = Timestamp::now() + LIFE;
    let Session { key, token } = session;
    Answer::text(
        200,
        "text/xml",
        &format!(
            "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
             <AssumeRoleWithWebIdentityResult><Credentials><SessionToken>{token}</SessionToken>\
             <SecretAccessKey>{}</SecretAccessKey><Expiration>{ends}</Expiration><AccessKeyId>{}</AccessKeyId>\
             </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
            key.secret, key.id
        ),
    )
}

#[tokio::test]
async fn a_queue_is_read_by_a_role() -> Result<()> {
    World::run("aws role", async |world| {
        let aws = Aws::start(world).await?;
        // The server would want a signature of this request too, other than AWS.
        let sts = world.start_outside().await?;
        sts.on("POST", "/", Answer::status(403));
        let tokens = aws.folder.join("tokens");
        fs::create_dir_all(&tokens)?;
        fs::write(tokens.join("aws"), TOKEN)?;
        let role = "webIdentity: {roleArn: \"arn:aws:iam::123456789012:role/role\", serviceAccountToken: {name: aws}, stsUrl: ";
        let role = format!("service: sqs, {role}\"{}\"}}", sts.url());
        let subject = aws.apply(world, &[("service: sqs, secretRef: {name: aws-read}", &role)]).await?;
        let arguments = vec!["--projected-tokens".to_owned(), tokens.display().to_string()];
        world.start(Which::Poller, Options { arguments, ..Options::default() }).await?;
        world.start_controller().await?;
        subject.wait_for_verdict("Unknown/Unauthorized").await?;

        sts.forget();
        let session = aws.session.clone();
        sts.choose(move |_| Some(exchanged(&session)));
        subject.wait_until_healed_by(1).await?;
        let asked = sts.requests().len();
        wait::until("the keys to be renewed", wait::DEADLINE, async || {
            let count = sts.requests().len();
            Ok(if count > asked + 1 { Seen::Met(()) } else { Seen::Instead(format!("{count} requests")) })
        })
        .await?;
        let last = subject.wait_until_healed_by(1).await?;
        let form = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&\
                    RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Frole&RoleSessionName=drift-poller&WebIdentityToken=";
        let sent: Vec<_> = sts.requests().iter().map(|request| request.body.clone()).collect();
        ensure!(sent.iter().all(|body| *body == format!("{form}{TOKEN}").as_bytes()), "{sent:?}");
        let log = fs::read_to_string(aws.folder.join("drift-poller.log"))?;
        for secret in [TOKEN, &aws.session.key.secret, &aws.session.token] {
            ensure!(!log.contains(secret) && !last.to_string().contains(secret), "{secret} is shown");
        }
        Ok(())
    })
    .await
}
