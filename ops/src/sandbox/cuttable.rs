//! Connections that can be cut from inside a call: a handler can only answer, not hang up.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Cuts its connection: from then on nothing more is written to it.
#[derive(Clone, Debug, Default)]
pub struct Cut(Arc<AtomicBool>);

impl Cut {
    /// Cuts the connection.
    pub fn now(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn done(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Accepts connections that can be cut.
#[derive(Debug)]
pub struct CuttableListener(pub TcpListener);

/// A connection that can be cut.
#[derive(Debug)]
pub struct Cuttable {
    stream: TcpStream,
    cut: Cut,
}

impl Listener for CuttableListener {
    type Io = Cuttable;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Cuttable, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        (Cuttable { stream, cut: Cut::default() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, CuttableListener>> for Cut {
    fn connect_info(stream: IncomingStream<'_, CuttableListener>) -> Self {
        stream.io().cut.clone()
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.cut.done() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
