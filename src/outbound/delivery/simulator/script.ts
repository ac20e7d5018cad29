/**
 * Says what an attempt to deliver to an address of the simulator ends with. Pure.
 *
 * | address       | attempt 1                      | attempt 2 | attempt 3              |
 * |---------------|--------------------------------|-----------|------------------------|
 * | `delivered`   | 250                            |           |                        |
 * | `bounce`      | 550 5.1.1                      |           |                        |
 * | `complaint`   | 250 after 1 s, and a complaint |           |                        |
 * | `soft-bounce` | 452 4.2.2                      | 452 4.2.2 | 452 4.2.2, and the end |
 * | `slow`        | 250 after 30 s                 |           |                        |
 *
 * No outcome is the recipient's fault, so that none suppresses the address and a test can be repeated.
 */
import type { Reply } from '../../../base/mail/reply.js'
import { formatReply } from '../../../base/mail/reply.js'
import type { ScriptName } from '../../../base/mail/simulator-address.js'
import type { AttemptOutcome } from '../smtp/attempt-result.js'

interface ScriptedEnd {
  /** Milliseconds before the reply. */
  readonly wait: number
  readonly outcome: AttemptOutcome
  /** The reply as the transcript has it. */
  readonly reply: Reply
  /** True if a complaint about the message follows. */
  readonly complains: boolean
}

/** Milliseconds. */
const SLOW_REPLY = 30_000
/**
 * Milliseconds before the reply. Each complaint is a report that is stored and read; this wait and the slots of the
 * simulator limit how many there are per second.
 */
const COMPLAINT_REPLY = 1_000
/** Milliseconds between the attempts of a soft bounce, which does not follow `outbound.retry_schedule`. */
const SOFT_BOUNCE_PAUSE = 30_000
const SOFT_BOUNCE_ATTEMPTS = 3

const acceptedReply: Reply = { code: 250, enhanced: '2.0.0', text: 'accepted by the simulator' }
const bounceReply: Reply = { code: 550, enhanced: '5.1.1', text: 'no such mailbox, says the simulator' }
const fullReply: Reply = { code: 452, enhanced: '4.2.2', text: 'the mailbox is full, says the simulator' }
const unknownReply: Reply = {
  code: 550,
  enhanced: '5.1.1',
  text: 'the simulator has delivered@, bounce@, complaint@, soft-bounce@ and slow@',
}

/** `script` is null for an address that the simulator does not have. `attempt` is 1 for the first. */
export function playScript(script: ScriptName | null, attempt: number): ScriptedEnd {
  switch (script) {
    case 'delivered':
      return accept(0, false)
    case 'complaint':
      return accept(COMPLAINT_REPLY, true)
    case 'slow':
      return accept(SLOW_REPLY, false)
    case 'soft-bounce':
      return { wait: 0, outcome: deferMailboxFull(attempt), reply: fullReply, complains: false }
    case 'bounce':
      return refuse(bounceReply)
    case null:
      return refuse(unknownReply)
  }
}

function accept(wait: number, complains: boolean): ScriptedEnd {
  const outcome = { kind: 'accepted', final: true, reply: acceptedReply, dsnRelayed: false } as const
  return { wait, outcome, reply: acceptedReply, complains }
}

function refuse(reply: Reply): ScriptedEnd {
  const response = formatReply(reply)
  const outcome = { kind: 'refused', reason: 'bad-mailbox', response, status: '5.1.1', recipientsFault: false } as const
  return { wait: 0, outcome, reply, complains: false }
}

function deferMailboxFull(attempt: number): AttemptOutcome {
  return {
    kind: 'deferred',
    reason: 'mailbox-full',
    response: formatReply(fullReply),
    reached: true,
    status: '4.2.2',
    retry: attempt >= SOFT_BOUNCE_ATTEMPTS ? 'never' : { after: SOFT_BOUNCE_PAUSE },
  }
}
