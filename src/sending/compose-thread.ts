/** Composes large content on a thread: 10 MB of HTML take the better part of a second. */
import { JobThread, memoryAloneOf } from '../platform/processes/job-thread.js'
import type { ComposedContent, ContentToCompose } from './compose-content.js'
import type { MessageContent } from './message-content.js'

/** Its bodies as UTF-8: to clone a text of megabytes blocks the main thread much longer. */
type PackedContent = Omit<MessageContent, 'html' | 'text'> & {
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
export type ComposedJob = Omit<ComposedContent, 'raw'> & { readonly raw: Uint8Array }

export class ComposeThread {
  private readonly thread = new JobThread<ContentJob, ComposedJob>(
    new URL('./compose-content-worker.js', import.meta.url),
  )

  async compose({ content, ...job }: ContentToCompose & TrackingUrls): Promise<ComposedContent> {
    const [html, text] = [content.html, content.text].map((body) => (body === null ? null : Buffer.from(body)))
    const packed = { ...content, html: html ?? null, text: text ?? null }
    const memories = [html, text].flatMap((body) => (body == null ? [] : (memoryAloneOf(body) ?? [])))
    const { raw, ...composed } = await this.thread.run({ ...job, content: packed }, memories)
    return { ...composed, raw: Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength) }
  }

  readBusyTime(): number {
    return this.thread.readBusyTime()
  }

  stop(): Promise<void> {
    return this.thread.stop()
  }
}
