/**
 * Composes large content on a thread, renders large templates, compiles mails in blocks and wraps long lines: 10 MB of
 * HTML take almost a second. Long bodies cross as UTF-8, and their memory is transferred to the thread. The message comes
 * back in memory that only it uses. So nothing is copied here.
 *
 * Mail has no turns: the memory of its requests bounds it, and the number of messages of one owner that wait. What an
 * editor asks for has turns: one compilation, preview or template to be shown of all owners is with the thread at a time,
 * so that mail waits for one of them at most.
 */

import { type PlainRefusal, Refusal, reviveRefusal } from '../../base/mail/refusal.js'
import { restoreHeadroom } from '../../base/platform/memory/byte-pieces.js'
import { OwnerTurns } from '../../base/platform/owner-turns.js'
import { JobThread, memoryAloneOf } from '../../base/platform/processes/job-thread.js'
import type { MailBlocks } from '../../workspaces/content/blocks/mail-blocks.js'
import { readBlocks } from '../../workspaces/content/blocks/read-blocks.js'
import type { RenderedPreview, TemplateData } from '../../workspaces/content/render-template.js'
import type { parseTemplate } from '../../workspaces/content/template-cache.js'
import type { ComposedContent, ContentToCompose } from './compose-content.js'
import type { RequestedBody, RequestedContent } from './message-content.js'
import type { RenderedBodies, TemplateToRender } from './template-content.js'

/** The content with all bodies as UTF-8. */
type PackedContent = Omit<RequestedContent, 'html' | 'text'> & {
  readonly html: Uint8Array | null
  readonly text: Uint8Array | null
}

export interface ContentJob extends Omit<ContentToCompose, 'content'>, TrackingUrls {
  readonly kind: 'compose'
  readonly content: PackedContent
}

interface TrackingUrls {
  /** The URL with which tracked links begin. */
  readonly base: string
  readonly publicUrl: string
}

export interface TemplateJob extends TemplateToRender {
  readonly kind: 'render'
}

export interface PreviewJob {
  readonly kind: 'preview'
  readonly words: Parameters<typeof parseTemplate>[0]
  readonly data: TemplateData
  readonly unsubscribeUrl: string
}

/** A checked document in blocks. */
interface BlocksJob {
  readonly kind: 'compile'
  readonly blocks: MailBlocks
}

/** The message whose lines are too long. Its bytes lose their class on the way to the thread. */
export interface WrapJob {
  readonly kind: 'wrap'
  readonly raw: Uint8Array
  readonly maxLineOctets: number
}

export interface MessageToWrap {
  readonly raw: Buffer
  readonly maxLineOctets: number
  readonly workspaceId: string
}

export type ThreadJob = ContentJob | TemplateJob | PreviewJob | BlocksJob | WrapJob

/** The message as the thread sends it. Buffers become plain Uint8Arrays on the way. */
type PackedMessage = Omit<ComposedContent, 'raw'> & { readonly raw: Uint8Array }

export type ComposedJob =
  | { readonly kind: 'composed'; readonly composed: PackedMessage }
  | { readonly kind: 'rendered'; readonly rendered: RenderedBodies<Uint8Array> }
  | { readonly kind: 'previewed'; readonly preview: RenderedPreview }
  | { readonly kind: 'compiled'; readonly html: string }
  | { readonly kind: 'wrapped'; readonly raw: Uint8Array | null }
  | { readonly kind: 'refused'; readonly refusal: PlainRefusal }

type DoneJob = Exclude<ComposedJob, { kind: 'refused' }>

export interface CompiledBlocks {
  readonly blocks: MailBlocks
  readonly html: string
}

/** Messages of one owner that wait. */
export const MAX_WAITING_MESSAGES = 256

/** Compilations and previews that wait, in all and of one owner. Each holds a document of up to a megabyte. */
const MAX_WAITING = 60
const MAX_WAITING_OF_OWNER = 8

export class ComposeThread {
  private readonly turns = new OwnerTurns({
    together: 1,
    waiting: { maxWaiting: MAX_WAITING, maxWaitingOfOwner: MAX_WAITING_OF_OWNER, buildRefusal },
  })
  private readonly thread = new JobThread<ThreadJob, ComposedJob>(
    new URL('./compose-content-worker.js', import.meta.url),
    { bound: { maxOfOwner: MAX_WAITING_MESSAGES, buildRefusal } },
  )

  /** `ownerOf` returns who takes turns; by default each workspace does. */
  constructor(private readonly ownerOf: (workspaceId: string) => string = (workspaceId) => workspaceId) {}

  /**
   * Composes the content. Bodies that are Buffers are empty afterwards, and so are files with `isOwn`. Rejects with the
   * Refusal of `composeContent`, or with `unavailable` if too many messages of the owner wait.
   */
  async compose({ content, ...job }: ContentToCompose & TrackingUrls): Promise<ComposedContent> {
    const [html, text] = [toBytes(content.html), toBytes(content.text)]
    const files = [...content.attachments, ...content.inlineImages].filter(({ isOwn }) => isOwn === true)
    const given = [html, text, ...files.map((file) => file.content)]
    const memories = given.flatMap((bytes) => (bytes === null ? [] : (memoryAloneOf(bytes) ?? [])))
    const packed: ContentJob = { kind: 'compose', ...job, content: { ...content, html, text } }
    const done = await this.run(packed, [...new Set(memories)], this.ownerOf(job.email.workspaceId))
    if (done.kind !== 'composed') throw new Error(`a message was to be composed, and the thread has ${done.kind} it`)
    const { raw, ...composed } = done.composed
    const bytes = bufferOf(raw)
    restoreHeadroom(bytes)
    return { ...composed, raw: bytes }
  }

  /** Rejects with the Refusal of `renderTemplate`, or with `unavailable` if too many messages of the owner wait. */
  async render(workspaceId: string, job: TemplateToRender): Promise<RenderedBodies<Buffer>> {
    return toRendered(await this.run({ kind: 'render', ...job }, [], this.ownerOf(workspaceId)))
  }

  /** The same for a template that is only shown. It waits for its turn, and rejects with `unavailable` if too many wait. */
  async renderInTurn(workspaceId: string, job: TemplateToRender): Promise<RenderedBodies<Buffer>> {
    return toRendered(await this.runInTurn(workspaceId, { kind: 'render', ...job }))
  }

  /** Rejects with the Refusal of `parseTemplate` or `renderPreview`, or `unavailable` if too many wait. */
  async preview(workspaceId: string, job: Omit<PreviewJob, 'kind'>): Promise<RenderedPreview> {
    const done = await this.runInTurn(workspaceId, { kind: 'preview', ...job })
    if (done.kind !== 'previewed') throw new Error(`a preview was to be rendered, and the thread has ${done.kind} it`)
    return done.preview
  }

  /**
   * Checks a document in blocks and compiles it to HTML. Rejects with the Refusal of `readBlocks`, or `unavailable` if too
   * many wait.
   */
  async compileBlocks(workspaceId: string, given: unknown): Promise<CompiledBlocks> {
    const blocks = readBlocks(given)
    const done = await this.runInTurn(workspaceId, { kind: 'compile', blocks })
    if (done.kind !== 'compiled') throw new Error(`blocks were to be compiled, and the thread has ${done.kind} them`)
    return { blocks, html: done.html }
  }

  /**
   * Wraps long lines. Null if the message cannot be wrapped. `raw` is empty afterwards. Rejects with `unavailable` if too
   * many messages of the owner wait.
   */
  async wrap({ raw, maxLineOctets, workspaceId }: MessageToWrap): Promise<Buffer | null> {
    const memory = memoryAloneOf(raw)
    const memories = memory === null ? [] : [memory]
    const done = await this.run({ kind: 'wrap', raw, maxLineOctets }, memories, this.ownerOf(workspaceId))
    if (done.kind !== 'wrapped') throw new Error(`a message was to be wrapped, and the thread has ${done.kind} it`)
    if (done.raw === null) return null
    const wrapped = bufferOf(done.raw)
    restoreHeadroom(wrapped)
    return wrapped
  }

  private runInTurn(workspaceId: string, job: PreviewJob | BlocksJob | TemplateJob): Promise<DoneJob> {
    return this.turns.run(this.ownerOf(workspaceId), () => this.run(job, [], null))
  }

  /** The owner is null for a job that has had its turn. */
  private async run(job: ThreadJob, memories: readonly ArrayBuffer[], owner: string | null): Promise<DoneJob> {
    const done = await this.thread.run(job, memories, owner)
    if (done.kind === 'refused') throw reviveRefusal(done.refusal)
    return done
  }

  readBusyTime(): number {
    return this.thread.readBusyTime()
  }

  stop(): Promise<void> {
    return this.thread.stop()
  }
}

function buildRefusal(): Refusal {
  return new Refusal('unavailable', 'too many mails are being prepared, try again later', { retry_after: 1 })
}

function toRendered(done: DoneJob): RenderedBodies<Buffer> {
  if (done.kind !== 'rendered') throw new Error(`a template was to be rendered, and the thread has ${done.kind} it`)
  const { subject, html, text } = done.rendered
  return { subject, html: html === null ? null : bufferOf(html), text: text === null ? null : bufferOf(text) }
}

function toBytes(body: RequestedBody | null): Buffer | null {
  return typeof body === 'string' ? Buffer.from(body) : body
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}
