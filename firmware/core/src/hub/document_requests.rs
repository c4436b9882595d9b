//! `request/content/…`: the documents that people put into the store.

use core::ops::ControlFlow;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::json::{Value, Writer};
use crate::limits;
use crate::request::{self, Refusal};
use crate::store::{Key, Store};
use crate::tools::DOCUMENTS;

type Category = String<{ limits::GROUP }>;
type DocumentName = String<{ limits::NAME }>;

/// `{"category", "name", "text"}`: keeps a document. `scratch` is for the text while it is unescaped.
pub(super) async fn put<F: MultiwriteNorFlash>(
    request: Value<'_>,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
    scratch: &mut [u8],
) -> Result<(), Refusal> {
    let (category, name) = document(request)?;
    let text = request.get("text").and_then(|text| text.as_text()).ok_or(Refusal::NotText("text"))?;
    let text = text.decode_into(scratch).ok_or(Refusal::LongText("text", limits::DOCUMENT))?;
    let key = Key::Document { category: &category, name: &name };
    Ok(store.lock().await.set(key, text).await?)
}

/// `{"category", "name"}`: forgets a document. One that is built in is then there again.
pub(super) async fn delete<F: MultiwriteNorFlash>(
    request: Value<'_>,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
) -> Result<(), Refusal> {
    let (category, name) = document(request)?;
    let key = Key::Document { category: &category, name: &name };
    if store.lock().await.delete(key).await? { Ok(()) } else { Err(Refusal::Absent) }
}

/// `{"after"?}` → `{"documents": [{"category", "name", "stored"}], "next"?}`, as many as fit. `next` is what to give as
/// `after` for the rest.
pub(super) async fn list<F: MultiwriteNorFlash>(
    request: Value<'_>,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
    reply: &mut Writer<'_>,
) -> Result<(), Refusal> {
    const LONGEST: usize = limits::GROUP + 1 + limits::NAME;
    let after = request::text::<LONGEST>(request, "after")?;
    let after = after.as_deref().map(|after| after.split_once('/').unwrap_or((after, "")));
    reply.key("documents");
    let list = reply.open_array();
    let mut last = None;
    let mut is_cut = false;
    let mut store = store.lock().await;
    let show = |category: &str, name: &str, stored| {
        if after.is_some_and(|after| (category, name) <= after) {
            return ControlFlow::Continue(());
        }
        let before = reply.mark();
        reply.object(|object| {
            object.field("category", category);
            object.field("name", name);
            object.field("stored", stored);
        });
        if reply.room() < LONGEST + limits::TRANSACTION + 64 {
            reply.rewind(before);
            is_cut = true;
            return ControlFlow::Break(());
        }
        // Names in the store fit.
        last = Category::try_from(category).ok().zip(DocumentName::try_from(name).ok());
        ControlFlow::Continue(())
    };
    store.documents(DOCUMENTS, show).await?;
    reply.close(list);
    if let Some((category, name)) = last.filter(|_| is_cut) {
        reply.field("next", format_args!("{category}/{name}"));
    }
    Ok(())
}

fn document(request: Value<'_>) -> Result<(Category, DocumentName), Refusal> {
    let category = request::text(request, "category")?.ok_or(Refusal::NotText("category"))?;
    let name = request::text(request, "name")?.ok_or(Refusal::NotText("name"))?;
    Ok((category, name))
}
