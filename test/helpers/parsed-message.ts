/** A message as the processes that parse messages return it. */
import { scanHeaderOrEmpty } from '../../src/mail/header-fields.js'
import type { MimeParts, ParsedMessage } from '../../src/messages/mime/mime-parts-protocol.js'

const noParts: MimeParts = { html: null, text: null, headers: [], attachments: [] }

export function parsedMessage(raw: Buffer, parts: Partial<MimeParts> = {}): ParsedMessage {
  return { raw, header: scanHeaderOrEmpty(raw), parts: { ...noParts, ...parts } }
}
