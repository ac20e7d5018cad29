/**
 * Parses messages: bodies, header fields, attachments. Separate processes do the work, because an untrusted message may
 * take any time and any memory.
 *
 * Everything is bounded: time and memory of each message, the number of processes, the number of messages that wait.
 * `mime-turns.ts` gives the turns. A waiting message holds no bytes; they are read when its turn comes. Large messages
 * are parsed one at a time, because their memory would otherwise add up.
 */
import { createSerialRunner } from '../../../base/platform/serial-runner.js'
import type { ProcessLimits } from './mime-child.js'
import { MimeProcess } from './mime-parts-process.js'
import type {
  AnalysisResult,
  AttachmentResult,
  ContentAnalyzer,
  DigestResult,
  Display,
  MessageDigester,
  MessageRenderer,
  MimeResult,
  ReadableResult,
  RenderResult,
} from './mime-parts-protocol.js'
import { MimeTurns } from './mime-turns.js'

export interface MimeLimits extends ProcessLimits {
  readonly processes: number
  /** Messages of at least this many octets are large. */
  readonly largeSize: number
  /** The most messages that wait, in all and of one workspace. */
  readonly maxWaiting: number
  readonly maxWaitingPerWorkspace: number
}

export const defaultMimeLimits: MimeLimits = {
  time: 5_000,
  timePerMegabyte: 500,
  memory: 160,
  resident: 384,
  idle: 30_000,
  processes: 2,
  largeSize: 4_194_304,
  maxWaiting: 10_000,
  maxWaitingPerWorkspace: 1_000,
}

/** Reads the bytes of a message when its turn has come. Undefined means that they are gone. */
export type RawSource = () => Buffer | undefined | Promise<Buffer | undefined>

/** A message with fewer octets is small: whatever it contains, it is read in a moment. */
const SMALL_SIZE = 65_536

export class MimeReader<Summary = unknown, Facts = never, Analysis = unknown> {
  private readonly processes: readonly MimeProcess<Summary, Facts, Analysis>[]
  private readonly turns: MimeTurns<MimeProcess<Summary, Facts, Analysis>>
  private readonly runLargeAlone = createSerialRunner()

  /** Only `analyze` needs `analyzer`. `ownerOf` returns who takes turns; by default each workspace does. */
  constructor(
    private readonly limits: MimeLimits = defaultMimeLimits,
    analyzer: ContentAnalyzer<Summary, Facts, Analysis> | null = null,
    private readonly ownerOf: (workspaceId: string) => string = (workspaceId) => workspaceId,
  ) {
    this.processes = Array.from({ length: limits.processes }, () => new MimeProcess(limits, analyzer))
    this.turns = new MimeTurns(this.processes, limits)
  }

  /**
   * Throws a Refusal: `rate-limited` if too many messages of the owner of the workspace already wait, `unavailable` if
   * too many wait in all or if no process can be started.
   */
  async read(workspaceId: string, source: RawSource): Promise<MimeResult> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.parse(raw))
  }

  /** Does what `read` does, with bodies as JSON texts. */
  async readForDisplay(workspaceId: string, source: RawSource, display = asReceived): Promise<ReadableResult> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.parseForDisplay(raw, display))
  }

  /** Resolves to the result of the renderer, within the same limits. */
  async render<RenderFacts>(
    workspaceId: string,
    source: RawSource,
    renderer: MessageRenderer<RenderFacts>,
    facts: RenderFacts,
  ): Promise<RenderResult> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.render(raw, renderer, facts))
  }

  /**
   * Resolves to the result of the analyzer, within the same limits. `size` is that of the message, if it is known: a
   * large message is not fetched before its turn.
   */
  async analyze(
    workspaceId: string,
    source: RawSource,
    facts: Facts,
    size = 0,
  ): Promise<AnalysisResult<Summary, Analysis>> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.analyze(raw, facts), size)
  }

  /** Resolves to the result of the digester, within the same limits. */
  async digest<DigestFacts, Digest>(
    workspaceId: string,
    source: RawSource,
    digester: MessageDigester<DigestFacts, Digest>,
    facts: DigestFacts,
  ): Promise<DigestResult<Digest>> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.digest(raw, digester, facts))
  }

  /** Reads the bytes of one attachment. Throws like `read`, and waits in the same queue. */
  async readAttachment(workspaceId: string, source: RawSource, place: number): Promise<AttachmentResult> {
    return this.enqueueJob(workspaceId, source, (process, raw) => process.readAttachment(raw, place))
  }

  /** `ask` resolves to null if the process ended before it began with the message. `size` is 0 if it is not known. */
  private async enqueueJob<Result>(
    workspaceId: string,
    source: RawSource,
    ask: (process: MimeProcess<Summary, Facts, Analysis>, raw: Buffer) => Promise<Result | null>,
    size = 0,
  ): Promise<Result | typeof goneResult> {
    const { largeSize } = this.limits
    return new Promise((resolve, reject) => {
      const fetchAndAsk = async (
        process: MimeProcess<Summary, Facts, Analysis>,
        alone: boolean,
      ): Promise<Result | typeof goneResult | null> => {
        const raw = await source()
        if (raw === undefined) return goneResult
        return alone || raw.length < largeSize ? ask(process, raw) : this.runLargeAlone(() => ask(process, raw))
      }
      const run = async (process: MimeProcess<Summary, Facts, Analysis>): Promise<boolean> => {
        const isLarge = size >= largeSize
        const asked = isLarge ? this.runLargeAlone(() => fetchAndAsk(process, true)) : fetchAndAsk(process, false)
        const result = await asked
        if (result !== null) resolve(result)
        return result !== null
      }
      this.turns.add(this.ownerOf(workspaceId), { run, reject, isSmall: size > 0 && size < SMALL_SIZE })
    })
  }

  async close(): Promise<void> {
    this.turns.close()
    await Promise.all(this.processes.map((process) => process.end()))
  }
}

/** The part of the reader for callers that only read messages. */
export type MessageReader = Pick<MimeReader, 'digest' | 'readForDisplay' | 'readAttachment' | 'render'>

/** If a message has only HTML, a text is made from it. */
const asReceived: Display = { makesText: true, htmlChange: null }

const goneResult = { kind: 'unreadable', why: 'gone', message: 'its bytes are no longer stored' } as const
