//! A connection to a server, whatever it is made of: TCP, a unix socket, TLS over one of them.

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}
