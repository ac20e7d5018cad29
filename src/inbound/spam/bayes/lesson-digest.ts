/**
 * Reads what the classifier learns of a message, in the processes that take messages apart: a message of tens of
 * megabytes would block the main thread.
 */
import { createHash } from 'node:crypto'
import { scanHeaderOrEmpty } from '../../../base/mail/header-fields.js'
import { MessageContent } from '../../../records/messages/mime/message-content.js'
import type { MessageDigester } from '../../../records/messages/mime/mime-parts-protocol.js'
import { buildSpamMessage, type SpamContext } from '../facts/spam-input.js'
import { tokenizeMessage } from './tokens.js'

interface LearnableMessage {
  readonly fingerprint: string
  readonly tokens: readonly string[]
  /** When the message was received, as far as is known. */
  readonly dated: number
}

/** The processes import it under this name. */
export const messageDigester: MessageDigester<SpamContext, LearnableMessage> = {
  module: new URL(import.meta.url),
  digest: (raw, context) => {
    const header = scanHeaderOrEmpty(raw)
    const message = buildSpamMessage({ raw, header, parts: new MessageContent(raw, header).read() }, context)
    return { fingerprint: messageFingerprintOf(raw), tokens: tokenizeMessage(message), dated: message.receivedAt }
  },
}

/** Made from the bytes as stored, so a message has one fingerprint whether it comes from the database or from a file. */
export function messageFingerprintOf(raw: Uint8Array): string {
  return createHash('sha256').update(raw).digest('hex')
}
