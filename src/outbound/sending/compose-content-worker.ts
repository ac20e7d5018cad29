/** The thread that composes large content, started by `compose-thread`. */

import { Refusal, toPlainRefusal } from '../../base/mail/refusal.js'
import { memoryAloneOf, serveJobs } from '../../base/platform/processes/job-thread.js'
import { compileBlocks } from '../../workspaces/content/blocks/compile-blocks.js'
import { renderPreview, renderTemplate } from '../../workspaces/content/render-template.js'
import { parseTemplate } from '../../workspaces/content/template-cache.js'
import { EmailTracker } from '../tracking/track-email.js'
import { composeContent } from './compose-content.js'
import type { ComposedJob, ContentJob, PreviewJob, TemplateJob, ThreadJob, WrapJob } from './compose-thread.js'
import type { RequestedContent } from './message-content.js'
import { wrapLongLines } from './wrap-long-lines.js'

interface DoneJob {
  readonly result: ComposedJob
  readonly transfer: readonly ArrayBuffer[]
}

serveJobs<ThreadJob, ComposedJob>((job) => {
  try {
    return perform(job)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { result: { kind: 'refused', refusal: toPlainRefusal(error) }, transfer: [] }
  }
})

function perform(job: ThreadJob): DoneJob {
  switch (job.kind) {
    case 'compose':
      return compose(job)
    case 'render':
      return render(job)
    case 'preview':
      return preview(job)
    case 'compile':
      return { result: { kind: 'compiled', html: compileBlocks(job.blocks) }, transfer: [] }
    case 'wrap':
      return wrap(job)
  }
}

function compose({ content, base, publicUrl, ...job }: ContentJob): DoneJob {
  const tracker = new EmailTracker({ trackingHost: { baseFor: () => base }, publicUrl })
  const composed = composeContent({ ...job, content: unpack(content) }, tracker)
  return { result: { kind: 'composed', composed }, transfer: memoriesOf([composed.raw]) }
}

function render({ template, data, unsubscribeUrl, form }: TemplateJob): DoneJob {
  const { subject, html, text } = renderTemplate(template, data, unsubscribeUrl)
  const [first, second] = [html, text].map((body) => {
    if (body === null) return null
    return Buffer.from(form === 'json' ? JSON.stringify(body) : body)
  })
  const rendered = { subject, html: first ?? null, text: second ?? null }
  return { result: { kind: 'rendered', rendered }, transfer: memoriesOf([rendered.html, rendered.text]) }
}

/** Renders a preview. It has at most 2 MB, which the answer encodes in steps. */
function preview({ words, data, unsubscribeUrl }: PreviewJob): DoneJob {
  const rendered = renderPreview(parseTemplate(words), data, unsubscribeUrl)
  return { result: { kind: 'previewed', preview: rendered }, transfer: [] }
}

function wrap({ raw, maxLineOctets }: WrapJob): DoneJob {
  const wrapped = wrapLongLines(toBuffer(raw), maxLineOctets)
  return { result: { kind: 'wrapped', raw: wrapped }, transfer: memoriesOf([wrapped]) }
}

function memoriesOf(bodies: readonly (Buffer | null)[]): readonly ArrayBuffer[] {
  return bodies.flatMap((body) => (body === null ? [] : (memoryAloneOf(body) ?? [])))
}

/** Makes Buffers of the bytes, which have lost their class on the way. */
function unpack(content: ContentJob['content']): RequestedContent {
  const restore = <File extends { readonly content: Uint8Array }>(file: File): File & { readonly content: Buffer } => ({
    ...file,
    content: toBuffer(file.content),
  })
  return {
    ...content,
    html: content.html === null ? null : toBuffer(content.html),
    text: content.text === null ? null : toBuffer(content.text),
    attachments: content.attachments.map(restore),
    inlineImages: content.inlineImages.map(restore),
  }
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
