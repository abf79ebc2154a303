//! A destination on a loopback port that behaves as it is told.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How a destination behaves once it has read the request.
pub(super) enum Manner {
    Answer(String),
    /// Answers and goes on sending without end.
    Flood(String),
    Drop,
    Hang,
}

pub(super) struct Destination {
    pub(super) url: String,
    pub(super) served: JoinHandle<Vec<u8>>,
    /// Ends a hanging destination.
    _end: tokio::sync::oneshot::Sender<()>,
}

/// A destination for one request; it gives what it read.
pub(super) async fn destination(manner: Manner) -> Destination {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://user:hush@{}/in?token=hush", listener.local_addr().unwrap());
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let request = read_request(&mut connection).await;
        match manner {
            Manner::Answer(answer) => connection.write_all(answer.as_bytes()).await.unwrap(),
            Manner::Flood(head) => {
                connection.write_all(head.as_bytes()).await.unwrap();
                while connection.write_all(&[b'x'; 8192]).await.is_ok() {}
            }
            Manner::Drop => {}
            Manner::Hang => drop(ended.await),
        }
        request
    });
    Destination { url, served, _end: end }
}

pub(super) async fn read_request(connection: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
            if body.len() >= length {
                return read;
            }
        }
        assert_ne!(connection.read_buf(&mut read).await.unwrap(), 0, "the request is whole");
    }
}

pub(super) fn answer(head: &str) -> Manner {
    Manner::Answer(format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n"))
}
