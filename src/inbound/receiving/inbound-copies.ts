/**
 * The copies of an accepted message, one for each workspace that it is addressed to and one for reports: their records,
 * their bytes with the trace fields, and the one commit that stores all of them.
 */

import type { Authentication } from '../../base/mail/authentication-results.js'
import { summarizeResults } from '../../base/mail/authentication-results.js'
import { Refusal } from '../../base/mail/refusal.js'
import type { Log } from '../../base/platform/log.js'
import { MessageBytes, TRANSFER_FROM_BYTES } from '../../base/storage/db/message-bytes.js'
import { StorageFault, tryCommit, type Write } from '../../base/storage/db/write.js'
import { type Json, toJson } from '../../base/storage/tables/columns.js'
import type { Arrival } from '../../base/storage/tables/inbound-tables.js'
import { SERVICE_WORKSPACE } from '../../base/storage/tables/tables.js'
import { storeRecord } from '../../records/messages/inbound/inbound-email.js'
import {
  type InboundEmail,
  type NewInbound,
  toProcessed,
  toUnprocessed,
} from '../../records/messages/inbound/inbound-record.js'
import type { InboundBytes } from '../../workspaces/accounts/limits/inbound-bytes.js'
import type { ReceivedMessage } from './authentication/received-message.js'
import type { ResultField } from './authentication/result-fields.js'
import { withTrace } from './authentication/trace-fields.js'
import type { GatheredCommits } from './gathered-commits.js'
import type { ProcessedMail } from './mail-processor.js'
import type { PlannedCopy } from './recipients/copy-plan.js'
import type { StoredForm } from './threads/packed-form.js'

/** The parts of a copy. */
interface CopySource extends PlannedCopy {
  readonly message: ReceivedMessage
  readonly authentication: Authentication
  /** The same as it is stored. */
  readonly authenticationJson: Json<Authentication>
  readonly results: readonly ResultField[]
  readonly arrival: Arrival
  /** Null if it is yet to be made. */
  readonly form: StoredForm | null
}

/** `email` is the record as it is until the message is processed. */
export interface InboundCopy {
  readonly email: InboundEmail
  readonly bytes: MessageBytes
}

export function buildCopy(source: CopySource): InboundCopy {
  const bytes = MessageBytes.moved(source.form?.pieces ?? buildStoredPieces(source))
  return { email: toUnprocessed(toRecord(source), bytes.length), bytes }
}

interface StoreDeps {
  readonly commits: Pick<GatheredCommits, 'commit'>
  readonly inboundBytes: Pick<InboundBytes, 'requireRoom'>
  readonly log: Pick<Log, 'info' | 'error'>
}

/**
 * Stores all copies in one commit, or none: if one workspace has no room, the message is refused temporarily.
 * `processed` is the only copy as it is after its processing; its writes are in the commit too. False if one of these
 * writes missed or failed, and the copy was stored without them. A message that may not be filed is refused then.
 */
export async function storeCopies(
  { commits, inboundBytes, log }: StoreDeps,
  copies: readonly InboundCopy[],
  processed: ProcessedMail | null,
  session: string,
): Promise<boolean> {
  const rooms: Write[] = []
  for (const { email } of copies) {
    const room = await inboundBytes.requireRoom(email)
    if (room !== null) rooms.push(room)
  }
  if (processed !== null && (await storeProcessed({ commits, log }, rooms, copies, processed, session))) return true
  if (processed?.mayBeFiled === false) throw buildNotYetProcessed()
  const writes = copies.flatMap(({ email, bytes }) => storeRecord(email, bytes))
  if (await tryCommit(commits.commit([...rooms, ...writes]))) return false
  log.info(
    { session, workspaces: copies.map(({ email }) => email.workspace_id) },
    'a message was refused: no room for inbound mail',
  )
  throw new Refusal('mailbox-full', 'the mailbox has no room for the message now')
}

/** The refusal of a message that no one may read before it is processed. Its sender, our own queue, tries again. */
export function buildNotYetProcessed(): Refusal {
  return new Refusal('unavailable', 'the message cannot be processed now, try again later')
}

/** False if a write missed or failed. Whatever is wrong with the results, the message itself can be stored. */
async function storeProcessed(
  { commits, log }: Pick<StoreDeps, 'commits' | 'log'>,
  rooms: readonly Write[],
  copies: readonly InboundCopy[],
  { content, writes }: ProcessedMail,
  session: string,
): Promise<boolean> {
  const all = [...rooms]
  for (const { email, bytes } of copies) all.push(...storeRecord(toProcessed(email, content), keepBytes(bytes)))
  all.push(...writes)
  try {
    return await tryCommit(commits.commit(all))
  } catch (error) {
    if (error instanceof StorageFault) throw error
    log.error({ err: error, session }, 'the results of a message could not be stored with it')
    return false
  }
}

/** The same bytes, but the writer takes over none of them: another commit may need them. */
function keepBytes(bytes: MessageBytes): MessageBytes {
  return bytes.length < TRANSFER_FROM_BYTES ? bytes : MessageBytes.moved([Buffer.concat(bytes.pieces)])
}

function buildStoredPieces({ message: { bytes, header }, trace, results }: CopySource): readonly Uint8Array[] {
  return withTrace(bytes.read(), header, trace, results)
}

function toRecord({
  trace,
  destination,
  message,
  authentication,
  authenticationJson,
  arrival,
}: CopySource): NewInbound {
  const { envelopeFrom, client } = message
  const { spf_result, dkim_result, dmarc_result } = summarizeResults(authentication)
  return {
    id: trace.id,
    kind: destination.kind,
    workspace_id: destination.kind === 'mail' ? destination.workspaceId : SERVICE_WORKSPACE,
    domain: destination.kind === 'mail' ? destination.domain : '',
    envelope_from: envelopeFrom,
    envelope_to: toJson(destination.addresses),
    client_address: client.address,
    helo: client.helo,
    spf_result,
    dkim_result,
    dmarc_result,
    authentication: authenticationJson,
    arrival,
    received_at: trace.now,
  }
}
