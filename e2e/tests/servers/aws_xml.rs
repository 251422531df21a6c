//! docs/cookbook/aws-xml.md: five kinds of AWS whose APIs answer XML, against a server that checks each signature.

use anyhow::{Context as _, Result, ensure};
use drift_e2e::world::World;
use serde_json::json;

use crate::aws::Aws;
use crate::page::{self, Subject};

/// Creates the parts of the account that the page needs: a network, a zone and a bucket.
const PREPARE: &str = "\
vpc = client('ec2').create_vpc(CidrBlock='10.0.0.0/16')['Vpc']['VpcId']
subnet = client('ec2').create_subnet(VpcId=vpc, CidrBlock='10.0.0.0/24')['Subnet']['SubnetId']
zone = client('route53').create_hosted_zone(Name='example.org', CallerReference='1')['HostedZone']['Id']
client('s3').create_bucket(Bucket='assets', CreateBucketConfiguration={'LocationConstraint': 'eu-central-1'})
print('made', vpc, subnet, zone.removeprefix('/hostedzone/'))";

/// Helpers of the calls below: the first resource of each kind.
const FIRST: &str = "\
elb, dns, s3, ec2 = (client(api) for api in ('elbv2', 'route53', 's3', 'ec2'))
balancer = lambda: elb.describe_load_balancers()['LoadBalancers'][0]
group = lambda: elb.describe_target_groups()['TargetGroups'][0]
address = lambda: ec2.describe_addresses()['Addresses'][0]
zone = dns.list_hosted_zones()['HostedZones'][0]['Id']
record = lambda: [s for s in dns.list_resource_record_sets(HostedZoneId=zone)['ResourceRecordSets'] if s['Type'] == 'A'][0]
change = lambda action, set: dns.change_resource_record_sets(
    HostedZoneId=zone, ChangeBatch={'Changes': [{'Action': action, 'ResourceRecordSet': set}]})
tags = lambda: {tag['Key']: tag['Value'] for tag in s3.get_bucket_tagging(Bucket='assets')['TagSet']}
";

const CHANGE: &str = "\
elb.set_ip_address_type(LoadBalancerArn=balancer()['LoadBalancerArn'], IpAddressType='dualstack')
elb.modify_target_group(TargetGroupArn=group()['TargetGroupArn'], HealthCheckPath='/other')
change('UPSERT', {**record(), 'ResourceRecords': [{'Value': '192.0.2.66'}]})
s3.put_bucket_tagging(Bucket='assets', Tagging={'TagSet': [{'Key': 'team', 'Value': 'other'}]})
ec2.create_tags(Resources=[address()['AllocationId']], Tags=[{'Key': 'Name', 'Value': 'other'}])";

const REMOVE: &str = "\
elb.delete_load_balancer(LoadBalancerArn=balancer()['LoadBalancerArn'])
elb.delete_target_group(TargetGroupArn=group()['TargetGroupArn'])
change('DELETE', record())
s3.delete_bucket_tagging(Bucket='assets')
ec2.release_address(AllocationId=address()['AllocationId'])";

const AS_DESIRED: &str = "\
assert balancer()['IpAddressType'] == 'ipv4', balancer()
assert group()['HealthCheckPath'] == '/ready', group()
assert sorted(r['Value'] for r in record()['ResourceRecords']) == ['192.0.2.10', '192.0.2.11'], record()
assert tags() == {'team': 'shop & sons', 'cost': '42'}, tags()
assert {'Key': 'Name', 'Value': 'edge of the shop'} in address()['Tags'], address()";

const GONE: &str = "\
assert not elb.describe_load_balancers()['LoadBalancers']
assert not elb.describe_target_groups()['TargetGroups']
assert not [s for s in dns.list_resource_record_sets(HostedZoneId=zone)['ResourceRecordSets'] if s['Type'] == 'A']
assert not ec2.describe_addresses()['Addresses']
try: raise SystemExit(str(tags()))
except s3.exceptions.ClientError as error: assert 'NoSuchTagSet' in str(error), error";

/// The reasons after a wrong key, in the order of the page. EC2 answers 401, and the others 403. The server's own code
/// fails on a wrong key for S3.
const WRONG_KEY: [&str; 5] = ["Forbidden", "Forbidden", "ExternalError", "Unauthorized", "Forbidden"];

#[tokio::test]
async fn resources_behind_xml_are_kept() -> Result<()> {
    World::run("aws xml", async |world| {
        let mut aws = Aws::start(world).await?;
        let printed = aws.call(PREPARE).await?;
        let made = printed.lines().rev().find_map(|line| line.strip_prefix("made "));
        let made: Vec<_> = made.with_context(|| format!("nothing made: {printed}"))?.split(' ').collect();
        let [vpc, subnet, zone] = made[..] else { anyhow::bail!("{made:?}") };
        let url = aws.url();
        let documents = aws.documents(
            world,
            "aws-xml.md",
            &[
                ("https://elasticloadbalancing.eu-central-1.amazonaws.com", &url),
                ("https://route53.amazonaws.com\n", &format!("{url}\n")),
                ("https://s3.eu-central-1.amazonaws.com", &url),
                ("https://ec2.eu-central-1.amazonaws.com", &url),
                ("vpc-of-yours", vpc),
                ("subnet-of-yours", subnet),
                ("zone-of-yours", zone),
                ("bucket-of-yours", "assets"),
            ],
        )?;
        let objects = documents.iter().filter(|document| document["apiVersion"] == format!("{}/v1", world.group()));
        let subjects = objects.map(|object| page::subject(world, object)).collect::<Result<Vec<_>>>()?;
        ensure!(subjects.len() == 5, "{} objects", subjects.len());
        page::apply_all(world, documents).await?;
        world.start_both().await?;
        let call = async |statements: &str| aws.call(&format!("{FIRST}{statements}")).await;
        healed(&subjects, 1).await?;
        call(AS_DESIRED).await?;

        call(CHANGE).await?;
        healed(&subjects, 2).await?;
        call(AS_DESIRED).await?;
        call(REMOVE).await?;
        healed(&subjects, 3).await?;
        let address = subjects[3].get().await?;
        ensure!(address["status"]["publicIp"].is_string(), "{address}");

        let read_with = |key: &str| {
            world.apply_credential("aws-read", "poller", json!({"accessKeyId": aws.reader.id, "secretAccessKey": key}))
        };
        read_with("wrong").await?;
        for (subject, reason) in subjects.iter().zip(WRONG_KEY) {
            subject.wait_for_verdict(&format!("Unknown/{reason}")).await?;
        }
        read_with(&aws.reader.secret).await?;
        healed(&subjects, 3).await?;
        for subject in &subjects {
            subject.delete().await?;
        }
        call(GONE).await?;
        aws.process.stop().await?;
        Ok(())
    })
    .await
}

/// Waits until each is in sync after this many corrections.
async fn healed(subjects: &[Subject], corrections: u64) -> Result<()> {
    for subject in subjects {
        subject.wait_until_healed_by(corrections).await?;
    }
    Ok(())
}
