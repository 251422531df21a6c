//! Follows each page of the cookbook like its reader: applies its documents unchanged, against a server from the
//! distribution's package. Then the server is changed outside with its own tools, stopped, and started again.
//!
//! Each test has its own server, on loopback and in its own folder. A missing server fails its test and names the
//! package to install, so that nothing counts as tested by mistake.

mod adapter;
mod aws;
mod aws_xml;
mod azure;
mod backup_job;
mod browser;
mod caddy;
mod client_certificate;
mod crossplane;
mod database;
mod database_statefulset;
mod directory;
mod docker_engine;
mod forward_proxy;
mod gcp;
mod git;
mod google_tokens;
mod installed;
mod ldap;
mod leaks;
mod load_balancer;
mod mariadb;
mod monitoring;
mod mysql;
mod mysql_connection;
mod openstack;
mod page;
mod postgres;
mod postgres_all_roles;
mod postgres_rows;
mod powerdns;
mod registry;
mod registry_tokens;
mod service_load_balancer;
mod slapd;
