//! Requests between a caller and a carrier, both played by hand.

use embassy_futures::poll_once;

use super::{IfDropped, Pending, Progress, Slot};

type Requests = Pending<(), &'static str, 2>;

fn requests() -> Requests {
    Pending::new([const { Slot::new(()) }; 2])
}

/// Sends all that is queued, with numbers from `first` on.
fn send(requests: &Requests, first: u32) {
    for (id, slot) in (first..).zip(requests.queued()) {
        slot.advance(Progress::Queued, Progress::Sending(id));
        slot.advance(Progress::Sending(id), Progress::Sent(id));
    }
}

#[test]
fn an_answer_is_kept_until_its_ticket_is_dropped() {
    let requests = requests();
    let ticket = requests.take(IfDropped::Forget).unwrap();
    ticket.queue();
    assert!(ticket.is_unsent() && poll_once(ticket.sent()).is_pending());
    send(&requests, 7);
    assert!(poll_once(ticket.sent()).is_ready() && poll_once(ticket.answered()).is_pending());
    requests.sent(7).unwrap().advance(Progress::Sent(7), Progress::Answered(7));
    assert!(poll_once(requests.answers_read()).is_pending());
    assert_eq!(poll_once(ticket.answered()), core::task::Poll::Ready(Ok(7)));
    drop(ticket);
    assert!(poll_once(requests.answers_read()).is_ready());
}

#[test]
fn a_dropped_request_is_forgotten_or_cancelled() {
    let requests = requests();
    for (if_dropped, abandoned) in [(IfDropped::Forget, None), (IfDropped::Cancel, Some(1))] {
        let ticket = requests.take(if_dropped).unwrap();
        ticket.queue();
        send(&requests, 1);
        drop(ticket);
        assert!(requests.sent(1).is_none(), "a late answer finds nobody");
        assert_eq!(requests.next_abandoned(), abandoned);
    }
    // Before it is sent there is nothing to cancel.
    drop(requests.take(IfDropped::Cancel));
    assert_eq!(requests.next_abandoned(), None);
}

#[test]
fn a_carrier_that_comes_late_changes_nothing_for_the_next_request() {
    let requests = requests();
    let first = requests.take(IfDropped::Forget).unwrap();
    first.queue();
    let slot = requests.queued().next().unwrap();
    slot.advance(Progress::Queued, Progress::Sending(1));
    drop(first);
    let second = requests.take(IfDropped::Forget).unwrap();
    second.queue();
    slot.advance(Progress::Sending(1), Progress::Failed("late"));
    assert!(second.is_unsent());
    assert!(requests.take(IfDropped::Forget).is_some() && requests.queued().count() == 1);
}

#[test]
fn failures_reach_those_who_wait() {
    let requests = requests();
    let (sent, queued) =
        (requests.take(IfDropped::Forget).unwrap(), requests.take(IfDropped::Forget).unwrap());
    assert!(requests.take(IfDropped::Forget).is_none(), "all slots are taken");
    sent.queue();
    send(&requests, 1);
    queued.queue();
    requests.fail(|progress| (progress != Progress::Queued).then_some("lost"));
    assert_eq!(poll_once(sent.answered()), core::task::Poll::Ready(Err("lost")));
    assert!(poll_once(queued.answered()).is_pending());
}
