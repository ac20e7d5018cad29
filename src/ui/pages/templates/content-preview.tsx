/** Previews the subject and the bodies with values while the user writes them. A sandboxed frame shows the HTML. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { asApiError } from '../../api/api-error.ts'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { ChoiceBar } from '../../components/choice-bar.tsx'
import type { MailDocument } from '../../components/editor/mail-document.ts'
import { Fault } from '../../components/loaded.tsx'
import { MessageFrame } from '../../components/message-frame.tsx'
import { Note } from '../../components/values.tsx'
import { findConcerns } from './mail-concerns.ts'
import { usePreviewZoom } from './preview-zoom.ts'
import './templates.css'

export interface Content {
  readonly subject: string
  readonly html: string
  readonly text: string
  /** Of two sources of the body, the one that is used. Without it, the HTML is. */
  readonly source?: 'blocks' | 'html'
  readonly blocks?: MailDocument | null
}

export interface Preview extends Pick<components['schemas']['TemplatePreview'], 'subject' | 'html' | 'text'> {
  readonly variables: readonly string[]
  readonly missing: readonly string[]
  /** The id of the frame that shows the HTML. It is null if there is none. */
  readonly frameId: string | null
}

/** Milliseconds after the last key. */
const PAUSE = 400

/** `footer` adds the footer that broadcasts get. */
export function usePreview(
  content: Content,
  data: Readonly<Record<string, unknown>>,
  footer = false,
): Loading<Preview> {
  const key = useSettled(JSON.stringify([content, data, footer]))
  return useLoad(() => loadPreview(JSON.parse(key)), [key])
}

type Words = readonly [content: Content, data: Record<string, unknown>, footer: boolean]

type BodySource = { readonly html: string | null } | { readonly blocks: MailDocument | null }

/** The body of a request: of the two sources, the chosen one. */
export function sourceOf({ source = 'html', html, blocks = null }: Content): BodySource {
  return source === 'html' ? { html: html || null } : { blocks }
}

async function loadPreview([content, data, footer]: Words): Promise<Preview> {
  const { subject, text } = content
  const body = { subject, ...sourceOf(content), text: text || null, template_data: data, footer }
  const preview = await unwrap(sessionApi.POST('/ui/api/template-previews', { body }))
  const frame =
    preview.html === null || preview.html === ''
      ? null
      : await unwrap(sessionApi.POST('/ui/api/previews', { body: { html: preview.html } }))
  return { ...preview, frameId: frame?.id ?? null }
}

/** Returns the value when it has not changed for a while. The first value comes at once. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

interface ContentPreviewProps {
  readonly from: Loading<Preview>
  /** Says what the user must do about variables without a value. Without it, the preview does not name them. */
  readonly missingNote?: string
}

export function ContentPreview({ from: { data, error, reload }, missingNote }: ContentPreviewProps): VNode {
  return (
    <div class="content-preview">
      {error === null ? null : <Fault error={asApiError(error)} onRetry={reload} />}
      {data === undefined ? null : <PreviewParts preview={data} missingNote={missingNote} />}
    </div>
  )
}

interface PartsProps {
  readonly preview: Preview
  readonly missingNote: string | undefined
}

function PreviewParts({ preview, missingNote }: PartsProps): VNode {
  const { subject, html, text, frameId, missing } = preview
  return (
    <>
      {missing.length === 0 || missingNote === undefined ? null : (
        <Note tone="warn" title="Variables without a value">
          <p>
            {missing.join(', ')}. {missingNote}
          </p>
        </Note>
      )}
      <p class="preview-subject">
        <span class="soft">Subject:</span> <strong>{subject || '–'}</strong>
      </p>
      {frameId === null ? null : <FramePreview id={frameId} html={html ?? ''} />}
      {text === null || text === '' ? null : (
        <details class="more" open={frameId === null}>
          <summary>Text</summary>
          <pre class="preview-text">{text}</pre>
        </details>
      )}
      {frameId === null && !text ? <p class="soft">There is no body yet.</p> : null}
    </>
  )
}

const widths = [
  { value: 'desk', label: 'Desktop' },
  { value: 'phone', label: 'Phone' },
]
const schemes = [
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]
const images = [
  { value: 'blocked', label: 'Without images' },
  { value: 'shown', label: 'With images' },
]

/** Pixels of a window in which a wide mail would be hard to read. */
const NARROW = 640

/** Shows the mail as wide and narrow programs do. The choices stay while the user writes. */
function FramePreview({ id, html }: { readonly id: string; readonly html: string }): VNode {
  const [width, setWidth] = useState(window.innerWidth < NARROW ? 'phone' : 'desk')
  const place = usePreviewZoom(width)
  const [scheme, setScheme] = useState('light')
  const [shown, setShown] = useState('blocked')
  const query = new URLSearchParams({ scheme, images: shown })
  return (
    <>
      <div class="preview-choices">
        <ChoiceBar label="Width of the preview" choices={widths} chosen={width} onChoose={setWidth} />
        <ChoiceBar label="Scheme of the preview" choices={schemes} chosen={scheme} onChoose={setScheme} />
        <ChoiceBar label="Images of the preview" choices={images} chosen={shown} onChoose={setShown} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it */}
      <section ref={place} class={`preview-frame preview-${width}`} aria-label="Preview" tabIndex={0}>
        <MessageFrame src={`/ui/api/frames/previews/${id}?${query}`} title="Preview of the HTML" length={html.length} />
      </section>
      <Concerns html={html} />
    </>
  )
}

function Concerns({ html }: { readonly html: string }): VNode {
  const concerns = findConcerns(html)
  if (concerns.length === 0)
    return <p class="soft">Mail programs will show all of this mail, as far as Posthorn knows.</p>
  return (
    <Note tone="warn" title="What mail programs will not show">
      <ul class="concerns">
        {concerns.map(({ id, text }) => (
          <li key={id}>{text}</li>
        ))}
      </ul>
    </Note>
  )
}
