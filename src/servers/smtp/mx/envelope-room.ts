/**
 * Limits how far one message may spread: its recipients, the workspaces that get a copy, and the forwarding rules that
 * copy it again. A further recipient is put off alone, and the client sends the message to the others in a further
 * transaction (RFC 5321 section 4.5.3.1.10).
 */
import type { Address } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import type { CheckedRecipient } from '../../../inbound/receiving/recipients/recipient-checker.js'
import type { MxGate } from './mx-gate.js'

/** Throws a Refusal `too-many-recipients`. */
export function requireRoomInEnvelope(
  accepted: ReadonlyMap<Address, CheckedRecipient>,
  recipient: Address,
  added: CheckedRecipient,
  { settings, limits: { maxWorkspaces, maxForwardRules } }: Pick<MxGate, 'settings' | 'limits'>,
): void {
  const { max_recipients: maxRecipients } = settings()
  if (accepted.size >= maxRecipients) {
    throw new Refusal('too-many-recipients', `at most ${maxRecipients} recipients in one message`, { recipient })
  }
  const all = [...accepted.values(), added]
  const workspaces = new Set(all.map(({ workspaceId }) => workspaceId))
  const mustSplit = workspaces.size > 1 && all.some(({ alone }) => alone)
  if (mustSplit || workspaces.size > maxWorkspaces) {
    const text = 'one message goes to a few organisations, send it to the others again'
    throw new Refusal('too-many-recipients', text, { recipient })
  }
  if (added.forwardRule === null) return
  if (new Set(all.flatMap(({ forwardRule }) => forwardRule ?? [])).size > maxForwardRules) {
    const text = 'one message is forwarded from a few addresses, send it to the others again'
    throw new Refusal('too-many-recipients', text, { recipient })
  }
}
