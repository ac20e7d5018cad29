/**
 * Composes large content on a thread: 10 MB of HTML take the better part of a second. Long bodies come as UTF-8, and
 * their memory goes to the thread; the message comes back in memory of its own. So none of them is copied here.
 */
import { type PlainRefusal, reviveRefusal } from '../mail/refusal.js'
import { JobThread, memoryAloneOf } from '../platform/processes/job-thread.js'
import type { ComposedContent, ContentToCompose } from './compose-content.js'
import type { RequestedBody, RequestedContent } from './message-content.js'

/** All bodies as UTF-8. */
type PackedContent = Omit<RequestedContent, 'html' | 'text'> & {
  readonly html: Uint8Array | null
  readonly text: Uint8Array | null
}

export interface ContentJob extends Omit<ContentToCompose, 'content'>, TrackingUrls {
  readonly content: PackedContent
}

interface TrackingUrls {
  /** The URL that tracked links begin with. */
  readonly base: string
  readonly publicUrl: string
}

/** Buffers lose their class on the way. */
type PackedMessage = Omit<ComposedContent, 'raw'> & { readonly raw: Uint8Array }

export type ComposedJob =
  | { readonly kind: 'composed'; readonly composed: PackedMessage }
  | { readonly kind: 'refused'; readonly refusal: PlainRefusal }

export class ComposeThread {
  private readonly thread = new JobThread<ContentJob, ComposedJob>(
    new URL('./compose-content-worker.js', import.meta.url),
  )

  /** Bodies that are Buffers are empty afterwards, and so are files with `isOwn`. Rejects with the Refusal of `composeContent`. */
  async compose({ content, ...job }: ContentToCompose & TrackingUrls): Promise<ComposedContent> {
    const [html, text] = [toBytes(content.html), toBytes(content.text)]
    const files = [...content.attachments, ...content.inlineImages].filter(({ isOwn }) => isOwn === true)
    const given = [html, text, ...files.map((file) => file.content)]
    const memories = given.flatMap((bytes) => (bytes === null ? [] : (memoryAloneOf(bytes) ?? [])))
    const done = await this.thread.run({ ...job, content: { ...content, html, text } }, [...new Set(memories)])
    if (done.kind === 'refused') throw reviveRefusal(done.refusal)
    const { raw, ...composed } = done.composed
    return { ...composed, raw: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength) }
  }

  readBusyTime(): number {
    return this.thread.readBusyTime()
  }

  stop(): Promise<void> {
    return this.thread.stop()
  }
}

function toBytes(body: RequestedBody | null): Buffer | null {
  return typeof body === 'string' ? Buffer.from(body) : body
}
