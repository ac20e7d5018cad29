/** `message show`: one message as it was sent or received. */
import { isUtf8 } from 'node:buffer'
import { type Header, readFieldValue, scanHeader } from '../../../base/mail/header-fields.js'
import { MimeReader } from '../../../records/messages/mime/mime-parts.js'
import type { MimeAttachment, MimeParts } from '../../../records/messages/mime/mime-parts-protocol.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  refuseExtraWords,
  requiredWord,
  UsageError,
} from '../command/command.js'
import { findMessage } from '../message-log/find-message.js'
import { type StoredMessage, storedEmail, storedInbound } from '../message-log/stored-message.js'

export async function showMessage({ words, options, database, showProgress }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  const id = requiredWord(words, 0, 'EMAIL_ID')
  const [header, raw, json] = ['header', 'raw', 'json'].map((name) => flagOption(options, name))
  if (raw && header) throw new UsageError('--raw and --header exclude each other')
  if (raw && json) throw new UsageError('--raw and --json exclude each other: the bytes of a message are not JSON')
  const { read } = await database()
  const found = await findMessage(read, id, showProgress)
  if (found === null) throw new CommandFailed(`no email, queue entry or inbound email ${id}`)
  const message = found.kind === 'email' ? await storedEmail(read, found.lookup) : storedInbound(read, found.inbound)
  const pieces = await message.read()
  if (raw) return { json: null, lines: [], bytes: pieces }
  return header ? showHeader(message, Buffer.concat(pieces)) : showParts(message, Buffer.concat(pieces))
}

function showHeader({ kind, id }: StoredMessage, raw: Buffer): Answer {
  const header = scanHeader(raw)
  return {
    json: {
      ...{ kind, id },
      headers: header.fields.map((field) => ({
        name: raw.toString('latin1', field.start, field.colon).trimEnd(),
        value: readFieldValue(raw, field),
      })),
    },
    lines: toLines(decodeHeader(raw, header)),
  }
}

function decodeHeader(raw: Buffer, { end }: Header): string {
  const bytes = raw.subarray(0, end)
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1').replace(/\r?\n$/, '')
}

/** A tab would be masked like other control characters. */
function toLines(text: string): readonly string[] {
  return text.replaceAll('\t', ' '.repeat(8)).split(/\r\n|\r|\n/)
}

async function showParts(message: StoredMessage, raw: Buffer): Promise<Answer> {
  const parts = await readParts(message, raw)
  const { kind, id, workspaceId, status, notes } = message
  const fieldNamed = (name: string): string | null =>
    parts.headers.find((field) => field.name.toLowerCase() === name)?.value ?? null
  const fields = Object.fromEntries(shownFields.map((name) => [name.replace('-', '_'), fieldNamed(name)]))
  const { html, text, attachments } = parts
  return {
    json: {
      ...{ kind, id, workspace_id: workspaceId, status, ...fields, size: raw.length, html, text },
      attachments: attachments.map(({ filename, content_type, size }) => ({ filename, content_type, size })),
    },
    lines: [
      `${id}  ${kind}  ${status}`,
      ...shownFields.flatMap((name) => formatFact(name, fieldNamed(name))),
      ...notes.flatMap(([name, value]) => formatFact(name, value)),
      ...formatFact('size', `${raw.length} bytes`),
      ...formatFact('parts', describeParts(parts)),
      ...attachments.flatMap((file) => formatFact('file', describeFile(file))),
      ...(text === null ? [] : ['', ...shorten(text)]),
    ],
  }
}

const shownFields = ['from', 'to', 'cc', 'subject', 'date', 'message-id'] as const

function formatFact(name: string, value: string | null): readonly string[] {
  return value === null ? [] : [`  ${name.padEnd(10)}  ${toLines(value).join(' ')}`]
}

interface ShownParts extends MimeParts {
  /** True if the message has HTML only, and the text was made from it. */
  readonly madeText: boolean
}

/** Processes take the message apart, since it may come from anybody. */
async function readParts({ id, workspaceId }: StoredMessage, raw: Buffer): Promise<ShownParts> {
  const mime = new MimeReader()
  try {
    const result = await mime.read(workspaceId, () => raw)
    if (result.kind !== 'parts') {
      throw new CommandFailed(`the message ${id} cannot be taken apart: ${result.message}; --raw prints its bytes`)
    }
    const { parts } = result
    if (parts.text !== null || parts.html === null) return { ...parts, madeText: false }
    const readable = await mime.readForDisplay(workspaceId, () => raw)
    const made = readable.kind === 'readable' ? readable.parts.text : null
    return { ...parts, text: made === null ? null : String(JSON.parse(made.toString())), madeText: made !== null }
  } finally {
    await mime.close()
  }
}

function describeParts({ html, text, madeText, attachments }: ShownParts): string {
  const bodies = [
    ...(text === null || madeText ? [] : ['text']),
    ...(html === null ? [] : [madeText ? 'HTML, from which the text below is made' : 'HTML']),
  ]
  const count = attachments.length
  const files = count === 0 ? [] : [count === 1 ? '1 file' : `${count} files`]
  return [...bodies, ...files].join('; ') || 'none'
}

function describeFile({ filename, content_type, size, disposition }: MimeAttachment): string {
  return `${filename ?? 'without a name'}, ${content_type}, ${size} bytes${disposition === 'inline' ? ', inline' : ''}`
}

const MAX_TEXT_LINES = 40
const MAX_TEXT_LENGTH = 4_000

function shorten(text: string): readonly string[] {
  const lines = toLines(text.trimEnd())
  const shown = lines.slice(0, MAX_TEXT_LINES).join('\n').slice(0, MAX_TEXT_LENGTH)
  if (shown.length === lines.join('\n').length) return lines
  return [...shown.split('\n'), '', 'The text goes on: --raw prints the complete message.']
}
