/**
 * Replaces the senders that a client may not use, for keys and trusted networks with a `sender`: hosts that relay
 * (Postfix, Exim, msmtp and others) send from `root@host.lan`, and programs of those hosts write no valid From at all.
 *
 * The envelope sender becomes `sender`, unless it is null. From becomes `sender` with the name of the first author, if
 * one of its addresses may not be used, or if it is missing or malformed. The former authors go to Reply-To if the
 * message has none. Senders that may be used stay as they are.
 */
import { findFields, type Header, readFieldValue, scanHeader, spliceToPieces } from '../../base/mail/header-fields.js'
import { decodeHeaderText } from '../../base/mail/header-text.js'
import { MAX_NAME_LENGTH, type NamedAddress } from '../../base/mail/named-address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { concatInSteps } from '../../base/platform/memory/byte-pieces.js'
import type { Principal } from '../../workspaces/accounts/access/principal.js'
import { composeMailboxes } from './compose-header.js'
import { readAuthors } from './prepare-message.js'
import { checkSender, chooseEnvelopeSender, maySendFrom, type VerifiedDomains } from './sender-policy.js'
import type { SubmittedMessage } from './submitted-message.js'

/**
 * Returns the message as it is if nothing is to be replaced. Throws a Refusal `forbidden` or `sender-not-verified` if
 * `sender` itself may not be used.
 */
export async function replaceSenders(
  principal: Principal,
  message: SubmittedMessage,
  domains: VerifiedDomains,
): Promise<SubmittedMessage> {
  const { sender } = principal
  if (sender === null) return message
  const envelopeFrom = await chooseEnvelopeSender(principal, message.envelopeFrom, domains)
  const header = scanHeader(message.raw)
  const authors = tryReadAuthors(message.raw, header)
  if (authors !== null && (await maySendFromAll(principal, authors, domains)))
    return envelopeFrom === message.envelopeFrom ? message : { ...message, envelopeFrom }

  await checkSender(principal, sender, 'sender', domains)
  const name = (authors?.[0]?.name ?? readLooseName(message.raw, header)).slice(0, MAX_NAME_LENGTH)
  const from = composeMailboxes('From', [{ address: sender, name }])
  const replyTo = hasReplyTo(message.raw, header) ? '' : composeMailboxes('Reply-To', authors ?? [])
  const remove = header.fields.filter(({ name: field }) => field === 'from')
  const raw = await concatInSteps(spliceToPieces(message.raw, header, { remove, append: `${from}${replyTo}` }))
  return { ...message, envelopeFrom, raw }
}

async function maySendFromAll(
  principal: Principal,
  authors: readonly NamedAddress[],
  domains: VerifiedDomains,
): Promise<boolean> {
  for (const { address } of authors) if (!(await maySendFrom(principal, address, domains))) return false
  return true
}

/** Returns null if From is missing or malformed. */
function tryReadAuthors(raw: Buffer, header: Header): readonly NamedAddress[] | null {
  try {
    return readAuthors(raw, header)
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

/** Characters of a malformed From that are read. */
const MAX_LOOSE = 1_000

/** Returns the name in `root (Cron Daemon)`, which cron writes, or text without an address. Empty if there is none. */
function readLooseName(raw: Buffer, header: Header): string {
  const [only, ...others] = findFields(header, 'from')
  if (only === undefined || others.length > 0) return ''
  const text = decodeHeaderText(readFieldValue(raw, only, MAX_LOOSE))
  const comment = /^[^\s()<>]{1,64} ?\(([^()]*)\)$/.exec(text)?.[1]?.trim()
  if (comment !== undefined) return comment
  return /[@<>()"\\]/.test(text) ? '' : text
}

function hasReplyTo(raw: Buffer, header: Header): boolean {
  return findFields(header, 'reply-to').some((field) => readFieldValue(raw, field, MAX_LOOSE) !== '')
}
