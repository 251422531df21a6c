//! The packets of a connection: a length of three bytes, a sequence number, and the content. A longer content takes
//! several packets.
//!
//! A server announces a length before the content. So a content is read only within an allowance, and memory is taken
//! as its bytes arrive.

use crate::guard::failure::SystemFailure;
use std::pin::Pin;
use std::task::{Context, Waker};

use mysql_common::constants::Command;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::guard::allowance::Allowance;
use crate::sql::SqlFailure;
use crate::sql::failure::CLOSED;
use crate::sql::mysql::failure::{LONG_STATEMENT, NOT_MYSQL};

/// Bytes of a packet's header.
const HEADER: usize = 4;
/// Content of a packet that another one continues.
pub(super) const PACKET_BYTES: u32 = 0xff_ffff;

/// The packets of one connection.
pub(super) struct Packets<W> {
    pub(super) wire: W,
    /// Sequence number of the next packet, in either direction.
    pub(super) next: u8,
}

impl<W: AsyncRead + AsyncWrite + Unpin> Packets<W> {
    pub(super) const fn over(wire: W) -> Self {
        Self { wire, next: 0 }
    }

    /// Sends the first packet of a command.
    pub(super) async fn command(&mut self, content: &[u8]) -> Result<(), SqlFailure> {
        self.next = 0;
        self.send(content).await
    }

    /// Sends the next packet.
    pub(super) async fn send(&mut self, content: &[u8]) -> Result<(), SqlFailure> {
        let length = u32::try_from(content.len()).ok().filter(|length| *length < PACKET_BYTES);
        let [low, middle, high, _] = length.ok_or(LONG_STATEMENT)?.to_le_bytes();
        let packet = [&[low, middle, high, self.next], content].concat();
        self.next = self.next.wrapping_add(1);
        self.wire.write_all(&packet).await?;
        Ok(self.wire.flush().await?)
    }

    /// Receives the next content. Its bytes and headers count against the allowance.
    pub(super) async fn receive(&mut self, allowance: &mut Allowance) -> Result<Vec<u8>, SqlFailure> {
        let mut content = Vec::new();
        loop {
            // Packets that are buffered already would otherwise be read without yielding.
            tokio::task::coop::consume_budget().await;
            let mut header = [0; HEADER];
            self.wire.read_exact(&mut header).await?;
            let [low, middle, high, number] = header;
            if number != self.next {
                return Err(NOT_MYSQL);
            }
            self.next = self.next.wrapping_add(1);
            let length = u32::from_le_bytes([low, middle, high, 0]);
            allowance.take(HEADER + length as usize).map_err(SystemFailure::Unreadable)?;
            let read = (&mut self.wire).take(length.into()).read_to_end(&mut content).await?;
            if read < length as usize {
                return Err(SqlFailure::System(SystemFailure::Unreachable(CLOSED)));
            }
            if length < PACKET_BYTES {
                return Ok(content);
            }
        }
    }

    /// Tells the server that the session ends, if that is possible without waiting. Otherwise the server logs a lost
    /// connection.
    pub(super) fn quit(&mut self) {
        let packet = [1, 0, 0, 0, Command::COM_QUIT as u8];
        let _ = Pin::new(&mut self.wire).poll_write(&mut Context::from_waker(Waker::noop()), &packet);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io;
    use std::task::{Poll, ready};

    use tokio::io::ReadBuf;

    use super::*;

    /// A stream that records the largest buffer that it was to fill, and waits after its last byte.
    struct Slow {
        sent: &'static [u8],
        room: usize,
    }

    impl AsyncRead for Slow {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            self.room = self.room.max(buffer.remaining());
            if self.sent.is_empty() {
                return Poll::Pending;
            }
            ready!(Pin::new(&mut self.sent).poll_read(context, buffer))?;
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Slow {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    const LIMIT: Allowance = Allowance::of(20_000_000, "too much");

    #[tokio::test(start_paused = true)]
    async fn an_announced_length_takes_no_memory() {
        for (sent, expected) in [(&b"\xfe\xff\xff\0abc"[..], 1024), (b"\xff\xff\xff\0abc", 1024), (b"\xfe", 4)] {
            let mut packets = Packets::over(Slow { sent, room: 0 });
            let mut allowance = LIMIT;
            let waiting = tokio::time::timeout(std::time::Duration::from_secs(9), packets.receive(&mut allowance));
            assert!(waiting.await.is_err(), "it waits for the rest");
            assert!(packets.wire.room <= expected, "{}", packets.wire.room);
        }
        let mut packets = Packets::over(Slow { sent: b"\x64\0\0\0abc", room: 0 });
        let refused = packets.receive(&mut Allowance::of(100, "too much")).await;
        assert_eq!(refused, Err(SqlFailure::System(SystemFailure::Unreadable("too much"))), "the header counts, too");
    }

    fn received(sent: Vec<u8>) -> Packets<tokio::io::Join<io::Cursor<Vec<u8>>, tokio::io::Sink>> {
        Packets::over(tokio::io::join(io::Cursor::new(sent), tokio::io::sink()))
    }

    #[tokio::test]
    async fn a_long_content_is_put_together() {
        let long = vec![7; PACKET_BYTES as usize];
        for rest in [&b""[..], b"ab"] {
            let second = [&[rest.len().to_le_bytes()[0], 0, 0, 1], rest].concat();
            let sent = [&b"\xff\xff\xff\0"[..], &long, &second].concat();
            let content = received(sent).receive(&mut LIMIT.clone()).await.unwrap();
            assert_eq!((content.len(), content.ends_with(rest)), (long.len() + rest.len(), true));
        }
        assert_eq!(received(Vec::new()).send(&long).await, Err(LONG_STATEMENT));
        assert_eq!(received(Vec::new()).send(&long[1..]).await, Ok(()));
    }

    #[tokio::test]
    async fn packets_come_in_their_order() {
        let mut packets = received(b"\x01\0\0\0a\x01\0\0\x02b".to_vec());
        assert_eq!(packets.receive(&mut LIMIT.clone()).await, Ok(b"a".to_vec()));
        assert_eq!(packets.receive(&mut LIMIT.clone()).await, Err(NOT_MYSQL));
        for cut in [&b"\x02\0\0\0a"[..], b"\x02\0", b""] {
            let lost = received(cut.to_vec()).receive(&mut LIMIT.clone()).await;
            assert_eq!(lost, Err(SqlFailure::System(SystemFailure::Unreachable(CLOSED))));
        }
    }

    /// Another task of the same thread has its turn although every packet is there already.
    #[tokio::test]
    async fn many_packets_leave_time_for_others() {
        const COUNT: u16 = 20_000;
        let sent = (0..COUNT).flat_map(|number| [0, 0, 0, number.to_le_bytes()[0]]).collect();
        let (mut packets, mut allowance) = (received(sent), LIMIT);
        let reading = async {
            for _ in 0..COUNT {
                packets.receive(&mut allowance).await.unwrap();
            }
        };
        let mut turns = 0;
        tokio::select! {
            biased;
            () = reading => {}
            () = async { loop { turns += 1; tokio::task::yield_now().await; } } => {}
        }
        assert!(turns > 50, "{turns} turns");
    }
}
