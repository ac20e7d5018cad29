/** Previews the subject and the bodies with values while the user writes them. A sandboxed frame shows the HTML. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { asApiError } from '../../api/api-error.ts'
import { sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { Fault } from '../../components/loaded.tsx'
import { MessageFrame } from '../../components/message-frame.tsx'
import { Note } from '../../components/values.tsx'
import './templates.css'

export interface Content {
  readonly subject: string
  readonly html: string
  readonly text: string
}

export interface Preview extends Pick<components['schemas']['TemplatePreview'], 'subject' | 'html' | 'text'> {
  readonly variables: readonly string[]
  readonly missing: readonly string[]
  /** The id of the frame that shows the HTML. It is null if there is none. */
  readonly frameId: string | null
}

/** Milliseconds after the last key. */
const PAUSE = 400

export function usePreview(content: Content, data: Readonly<Record<string, unknown>>): Loading<Preview> {
  const key = useSettled(JSON.stringify([content, data]))
  return useLoad(() => loadPreview(JSON.parse(key)), [key])
}

type Words = readonly [content: Content, data: Record<string, unknown>]

async function loadPreview([{ subject, html, text }, data]: Words): Promise<Preview> {
  const body = { subject, html: html || null, text: text || null, template_data: data }
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
      {frameId === null ? null : (
        <MessageFrame
          src={`/ui/api/frames/previews/${frameId}`}
          title="Preview of the HTML"
          length={(html ?? '').length}
        />
      )}
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
