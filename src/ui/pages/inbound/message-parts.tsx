/** Shows the parts of the message: its text, its HTML in a frame, its header and its raw bytes. */
import type { VNode } from 'preact'
import { api, saveFile, unwrap } from '../../api/client.ts'
import { workspace } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { MessageFrame } from '../../components/message-frame.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Note } from '../../components/values.tsx'
import type { EmailPartProps, InboundEmail } from './inbound-email.ts'

/** Characters of a text, and bytes of a raw message, that are shown. */
const MAX_SHOWN = 200_000

export function MessageText({ email: { text, has_text: isOwn } }: EmailPartProps): VNode {
  if (text === null || text.trim() === '') {
    return (
      <Empty title="No text">
        <p>The message has no text, or it is no longer stored.</p>
      </Empty>
    )
  }
  return (
    <>
      {isOwn ? null : <p class="message-note">The message has no text part. Posthorn made this text from its HTML.</p>}
      <ShortenedText
        text={text.slice(0, MAX_SHOWN)}
        isShortened={text.length > MAX_SHOWN}
        label="Text of the message"
      />
    </>
  )
}

export function MessageHtml({ email: { id, text } }: EmailPartProps): VNode {
  const place = `${encodeURIComponent(workspace.value?.id ?? '')}/inbound/${encodeURIComponent(id)}`
  return (
    <>
      <p class="message-note">Remote images are not loaded, so the sender does not learn that you read the message.</p>
      <MessageFrame src={`/ui/api/frames/${place}`} title="HTML of the message" length={(text ?? '').length} />
    </>
  )
}

type HeaderField = InboundEmail['headers'][number]

export function HeaderFields({ email: { headers } }: EmailPartProps): VNode {
  if (headers.length === 0) return <Empty title="The message is no longer stored, or it cannot be read" />
  return (
    <Table
      caption="Header fields"
      columns={headerColumns}
      rows={headers.map((field, at) => ({ ...field, at }))}
      rowKey={({ at }) => String(at)}
    />
  )
}

const headerColumns: readonly Column<HeaderField>[] = [
  { title: 'Field', show: ({ name }) => <span class="wide-value">{name}</span> },
  { title: 'Value', show: ({ value }) => <code>{value}</code> },
]

export function RawMessage({ email: { id } }: EmailPartProps): VNode {
  const raw = useLoad(() => loadRaw(id), [id])
  return (
    <>
      <div class="message-actions">
        <Button onClick={() => saveFile(`/v1/inbound/${id}/raw`, `${id}.eml`)}>Save as a file</Button>
      </div>
      <Loaded from={raw}>
        {({ text, isShortened }) => <ShortenedText text={text} isShortened={isShortened} label="Raw message" />}
      </Loaded>
    </>
  )
}

async function loadRaw(id: string): ReturnType<typeof readBeginning> {
  const params = { path: { id } }
  return readBeginning(await unwrap(api.GET('/v1/inbound/{id}/raw', { params, parseAs: 'stream' })), MAX_SHOWN)
}

interface ShortenedTextProps {
  readonly text: string
  readonly isShortened: boolean
  readonly label: string
}

function ShortenedText({ text, isShortened, label }: ShortenedTextProps): VNode {
  return (
    <>
      {isShortened ? (
        <Note tone="info">
          <p>Only the first {formatNumber(MAX_SHOWN)} characters are shown. Save the raw message to read all of it.</p>
        </Note>
      ) : null}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section class="inbound-text" tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
    </>
  )
}

interface Beginning {
  readonly text: string
  /** True if the answer is longer. */
  readonly isShortened: boolean
}

/** Reads at most `maxBytes` of an answer without loading the rest. Bytes that are not UTF-8 become replacement characters. */
async function readBeginning(
  stream: ReadableStream<Uint8Array> | null | undefined,
  maxBytes: number,
): Promise<Beginning> {
  const reader = stream?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let left = maxBytes
  while (reader !== undefined && left >= 0) {
    const { done, value } = await reader.read()
    if (done) return { text: text + decoder.decode(), isShortened: false }
    text += decoder.decode(value.subarray(0, left), { stream: true })
    left -= value.length
  }
  await reader?.cancel()
  return { text, isShortened: reader !== undefined }
}
