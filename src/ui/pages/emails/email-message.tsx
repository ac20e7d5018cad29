/**
 * The message of an email: its HTML in a frame, its text, its header fields, its attachments, and the file that is
 * sent.
 */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, saveFile, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { workspace } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { formatBytes } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { MessageFrame } from '../../components/message-frame.tsx'
import { Section } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Tabs } from '../../components/tabs.tsx'

type EmailContent = components['schemas']['Email']

export function EmailMessage({ id }: { readonly id: string }): VNode {
  const message = useLoad(() => unwrap(api.GET('/v1/emails/{id}', { params: { path: { id } } })), [id])
  return <Loaded from={message}>{(email) => <MessageParts email={email} />}</Loaded>
}

function MessageParts({ email }: { readonly email: EmailContent }): VNode {
  const { id, html, text } = email
  if (html === null && text === null) {
    return (
      <Empty title="The message is not shown">
        <p>It is no longer stored, or it cannot be read. Messages are kept for a shorter time than their records.</p>
      </Empty>
    )
  }
  const frame = `/ui/api/frames/${workspace.value?.id ?? ''}/emails/${id}`
  const views = [
    ...(html === null
      ? []
      : [
          {
            id: 'html',
            title: 'HTML',
            show: () => <MessageFrame src={frame} title="The HTML of the message" length={html.length} />,
          },
        ]),
    ...(text === null ? [] : [{ id: 'text', title: 'Text', show: () => <pre class="message-text">{text}</pre> }]),
    { id: 'header', title: 'Header', show: () => <HeaderFields id={id} /> },
  ]
  return (
    <>
      <Tabs label="Views of the message" tabs={views} parameter="view" />
      {html === null ? null : <p class="section-intro">Remote images are not loaded here, and links are disabled.</p>}
      <Attachments email={email} />
      <p class="message-file">
        <Button onClick={() => saveFile(`/v1/emails/${id}/raw`, `${id}.eml`)}>Save the message as a file</Button>
      </p>
    </>
  )
}

function HeaderFields({ id }: { readonly id: string }): VNode {
  const fields = useLoad(() => readHeaderFields(id), [id])
  return <Loaded from={fields}>{(text) => <pre class="message-text">{text}</pre>}</Loaded>
}

function Attachments({ email: { attachments } }: { readonly email: EmailContent }): VNode | null {
  const [shown, setShown] = useState(MAX_SHOWN)
  if (attachments.length === 0) return null
  const rows = attachments.slice(0, shown).map((attachment, at) => ({ ...attachment, at }))
  return (
    <Section title="Attachments">
      <Table
        caption="Attachments of the message"
        columns={[
          { title: 'Name', show: ({ filename }) => filename ?? '(no name)' },
          { title: 'Type', show: ({ content_type: type }) => type },
          { title: 'Size', kind: 'number', show: ({ size }) => formatBytes(size) },
        ]}
        rows={rows}
        rowKey={({ at }) => String(at)}
      />
      {attachments.length > shown ? (
        <Button small onClick={() => setShown(attachments.length)}>
          Show all {attachments.length}
        </Button>
      ) : null}
    </Section>
  )
}

const MAX_SHOWN = 20

/** Characters of the header that the page shows. */
const MAX_HEADER = 262_144
const HEADER_END = '\r\n\r\n'

/** Reads the header of a message as it is sent. It does not load the rest, which may be large. */
async function readHeaderFields(id: string): Promise<string> {
  const answer = await unwrap(api.GET('/v1/emails/{id}/raw', { params: { path: { id } }, parseAs: 'stream' }))
  if (answer === null) return ''
  const reader = answer.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value = '' } = await reader.read()
    const seen = Math.max(0, text.length - HEADER_END.length)
    text += value
    const end = text.indexOf(HEADER_END, seen)
    if (end !== -1 || done || text.length > MAX_HEADER) {
      await reader.cancel()
      return text.slice(0, end === -1 ? MAX_HEADER : end)
    }
  }
}
