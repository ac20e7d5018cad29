/** The thread of `compose-thread`. */
import { Refusal, toPlainRefusal } from '../mail/refusal.js'
import { memoryAloneOf, serveJobs } from '../platform/processes/job-thread.js'
import { createEmailTracker } from '../tracking/track-email.js'
import { composeContent } from './compose-content.js'
import type { ComposedJob, ContentJob } from './compose-thread.js'
import type { RequestedContent } from './message-content.js'

serveJobs<ContentJob, ComposedJob>(({ content, base, publicUrl, ...job }) => {
  const beginTracking = createEmailTracker({ trackingBaseFor: () => base, publicUrl })
  try {
    const composed = composeContent({ ...job, content: unpack(content) }, beginTracking)
    const memory = memoryAloneOf(composed.raw)
    return { result: { kind: 'composed', composed }, transfer: memory === null ? [] : [memory] }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { result: { kind: 'refused', refusal: toPlainRefusal(error) }, transfer: [] }
  }
})

/** Bytes have lost their class on the way. */
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
