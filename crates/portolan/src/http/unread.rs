//! Reads what a client still sends after its request was answered. If a connection is closed while data arrives, the system
//! discards the answer that the client has not read yet.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

/// The most bytes that are read of a body that nobody needs, and for how long.
const MOST_BYTES: usize = 32 << 20;
const PATIENCE: Duration = Duration::from_secs(5);

/// Answers a request, and reads the rest of its body meanwhile.
pub(super) async fn answered(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let expects = request.headers().contains_key(EXPECT);
    let (parts, body) = request.into_parts();
    let body = SharedBody(Arc::new(Mutex::new(PartlyRead { body, is_begun: false })));
    let answer = next.run(Request::from_parts(parts, Body::new(body.clone()))).await;
    // A client that expects to be asked for its body does not send it unless it was. Whoever still has the body reads it.
    let is_sent = !expects || body.inner().is_begun;
    if is_sent && Arc::strong_count(&body.0) == 1 && !body.is_end_stream() {
        tokio::spawn(timeout(PATIENCE, body.discard()));
    }
    answer
}

/// The body of a request, which whoever answers it may leave unread.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<PartlyRead>>);

struct PartlyRead {
    body: Body,
    /// Whether something of it was asked for.
    is_begun: bool,
}

impl SharedBody {
    fn inner(&self) -> MutexGuard<'_, PartlyRead> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn discard(mut self) {
        let mut left = MOST_BYTES;
        while let Some(Ok(frame)) = std::future::poll_fn(|context| Pin::new(&mut self).poll_frame(context)).await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(fewer) = left.checked_sub(length) else { return };
            left = fewer;
        }
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut inner = self.inner();
        inner.is_begun = true;
        Pin::new(&mut inner.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner().body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::{Body, to_bytes};
    use axum::http::StatusCode;
    use axum::routing::post;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::sync::watch;

    use crate::http::Listeners;

    /// Serves something that refuses every request: at `/` without reading it, at `/part` after some of it.
    async fn refusing() -> (TcpStream, watch::Sender<bool>) {
        let listeners = Listeners::on_loopback(None).await.expect("a port");
        let port = listeners.port();
        let (end, ending) = watch::channel(false);
        let refusal = (StatusCode::PAYLOAD_TOO_LARGE, "too much");
        let part = async move |body: Body| {
            to_bytes(body, 1 << 10).await.expect_err("it is larger");
            refusal
        };
        let app = Router::new().route("/", post(async move || refusal)).route("/part", post(part));
        tokio::spawn(listeners.serve(app, ending));
        (TcpStream::connect(("127.0.0.1", port)).await.expect("connected"), end)
    }

    async fn head(stream: &mut TcpStream, path: &str, more: &str) {
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{more}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("sent");
    }

    async fn answer(stream: &mut TcpStream) -> String {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"too much") {
            let read = stream.read_buf(&mut bytes).await.expect("it is not cut off");
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&bytes));
        }
        String::from_utf8(bytes).expect("text")
    }

    #[tokio::test]
    async fn who_reads_only_after_the_whole_request_is_sent_gets_the_refusal() {
        let (mut stream, _end) = refusing().await;
        // The second request shows that the connection stands.
        for _request in 0..2 {
            let body = vec![b'x'; 20 << 20];
            head(&mut stream, "/", &format!("Content-Length: {}", body.len())).await;
            stream.write_all(&body).await.expect("it is read");
            assert!(answer(&mut stream).await.starts_with("HTTP/1.1 413 "));
        }
    }

    #[tokio::test]
    async fn who_asks_first_is_not_told_to_send() {
        let (mut stream, _end) = refusing().await;
        head(&mut stream, "/", "Content-Length: 100\r\nExpect: 100-continue").await;
        assert!(answer(&mut stream).await.starts_with("HTTP/1.1 413 "));
    }

    #[tokio::test]
    async fn who_was_told_to_send_gets_the_refusal_as_well() {
        let (mut stream, _end) = refusing().await;
        let body = vec![b'x'; 20 << 20];
        head(&mut stream, "/part", &format!("Content-Length: {}\r\nExpect: 100-continue", body.len())).await;
        let mut told = [0; 25];
        stream.read_exact(&mut told).await.expect("it is asked for");
        assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(&body).await.expect("it is read");
        assert!(answer(&mut stream).await.starts_with("HTTP/1.1 413 "));
    }

    #[tokio::test]
    async fn a_body_without_an_end_is_not_read_for_ever() {
        let (mut stream, _end) = refusing().await;
        head(&mut stream, "/", "Content-Length: 1000000000000").await;
        let part = vec![b'x'; 1 << 20];
        let mut sent = 0;
        while stream.write_all(&part).await.is_ok() {
            sent += 1;
            assert!(sent < 1_000, "{sent} MiB were read");
        }
    }
}
