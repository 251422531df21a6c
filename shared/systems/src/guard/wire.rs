//! A connection to a server: TCP, a unix socket, or TLS over either.

use tokio::io::{AsyncRead, AsyncWrite};

/// An open byte stream.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}
