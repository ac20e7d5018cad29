/**
 * Makes the body of a request from an inbound message. It runs in the processes that parse messages, because the
 * message is untrusted and the body may have tens of megabytes.
 */
import { isUtf8 } from 'node:buffer'
import { scanHeader } from '../../../../base/mail/header-fields.js'
import { MessageContent } from '../../../../records/messages/mime/message-content.js'
import type { MessageRenderer } from '../../../../records/messages/mime/mime-parts-protocol.js'
import type { BodyFacts, DocumentFacts, FormFacts } from './body-facts.js'
import { decodeUtf8, encodeBase64 } from './json-pieces.js'
import { renderPostmark } from './render-postmark.js'

/** The processes import it under this name. */
export const messageRenderer: MessageRenderer<BodyFacts> = {
  module: new URL(import.meta.url),
  render: (raw, facts) => {
    switch (facts.kind) {
      case 'document':
        return renderDocument(raw, facts)
      case 'postmark':
        return renderPostmark(raw, facts)
      case 'form':
        return renderForm(raw, facts)
    }
  },
}

function renderDocument(raw: Buffer, { document, content }: DocumentFacts): Buffer {
  const open = Buffer.from(document.slice(0, -2))
  const close = Buffer.from('}}')
  if (content === 'raw') return Buffer.concat([open, Buffer.from(',"raw":'), ...encodeBase64(raw), close])
  const { html, text, headers } = new MessageContent(raw, scanHeader(raw)).readParts()
  const parsed = JSON.stringify({ html, text, headers })
  return Buffer.concat([open, Buffer.from(`,${parsed.slice(1, -1)}`), close])
}

function renderForm(raw: Buffer, { boundary, fields, messageField }: FormFacts): Buffer {
  const before = fields.map(([name, value]) => `${openField(boundary, name)}${value}\r\n`).join('')
  // Receivers read a field as UTF-8, and some refuse a form with other bytes.
  const message = isUtf8(raw) ? [raw] : decodeUtf8(raw).map((text) => Buffer.from(text))
  const open = Buffer.from(`${before}${openField(boundary, messageField)}`)
  return Buffer.concat([open, ...message, Buffer.from(`\r\n--${boundary}--\r\n`)])
}

function openField(boundary: string, name: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`
}
