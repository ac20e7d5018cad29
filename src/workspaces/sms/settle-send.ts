/** Writes down what the provider answered. The code becomes valid or void. */
import { assertNever } from '../../base/mail/assert-never.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Clock } from '../../base/platform/clock.js'
import type { Log } from '../../base/platform/log.js'
import type { Store } from '../../base/storage/db/database.js'
import { tryCommit, type Write } from '../../base/storage/db/write.js'
import type { SendOutcome } from './provider.js'
import { recordSmsFailed, recordSmsSent } from './sms-events.js'
import { insertPart, markCodeSent, type NewCode, replacePendingCode, voidCode } from './sms-records.js'

interface SettleDeps extends Store {
  readonly clock: Clock
  readonly log: Log
  readonly countSent: (workspaceId: string, segments: number, now: number) => readonly Write[]
}

/** Resolves when the code is valid. Otherwise it rejects with a Refusal: `unavailable`, `no-answer`. */
export async function settleSend(deps: SettleDeps, code: NewCode, outcome: SendOutcome): Promise<void> {
  const now = deps.clock()
  const fields = toLogFields(code, now)
  switch (outcome.kind) {
    case 'accepted':
      if (await tryCommit(deps.commit(buildAcceptance(deps, code, outcome.messageIds, now)))) {
        deps.log.info(fields, 'code sent')
        return
      }
      deps.log.warn({ ...fields, reason: 'the record was ended while the provider was asked' }, 'code not sent')
      throw new Refusal('unavailable', 'the code was not sent, because the service was restarted')
    case 'refused':
    case 'silent':
      deps.log.warn({ ...fields, outcome: outcome.kind, reason: outcome.reason }, 'code not sent')
      await tryCommit(deps.commit(buildFailure(code, outcome.kind, now)))
      throw outcome.kind === 'refused'
        ? new Refusal('unavailable', 'the SMS provider did not accept the message')
        : new Refusal('no-answer', 'the SMS provider did not answer in time: this code is not valid')
    default:
      return assertNever(outcome)
  }
}

function buildAcceptance(
  { countSent }: SettleDeps,
  code: NewCode,
  messageIds: readonly string[],
  at: number,
): readonly Write[] {
  const { id, workspace_id: workspaceId, phone, provider, segments } = code
  return [
    replacePendingCode({ workspaceId, phone }),
    markCodeSent({ id, workspaceId, at }),
    ...messageIds.map((message_id, place) =>
      insertPart({ sms_id: id, part: place + 1, workspace_id: workspaceId, provider, message_id }),
    ),
    ...countSent(workspaceId, segments, at),
    recordSmsSent(code, at),
  ]
}

/** The code and its event are one commit. If another process ended the code, its event is the only one. */
function buildFailure(code: NewCode, reason: 'refused' | 'silent', at: number): readonly Write[] {
  const { id, workspace_id: workspaceId } = code
  return [voidCode({ id, workspaceId, reason, at }), recordSmsFailed(code, reason, at)]
}

function toLogFields({ id, workspace_id, phone, country, provider, segments, created_at }: NewCode, now: number) {
  return { sms_id: id, workspace_id, phone, country, provider, segments, ms: now - created_at }
}
