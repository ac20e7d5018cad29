/**
 * The DNS queries of a thread to which it has no answer: those of one turn of the event loop go to the main thread
 * together.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../../../base/platform/clock.js'
import type { LookupResult, MxRecord, RecordType } from '../../../base/platform/dns/resolver.js'
import type { KeepingResolver } from '../authentication/dns-queries.js'
import { type DnsQuery, type FoundAnswer, KeptAnswers, toAnswerKey } from '../authentication/kept-answers.js'
import type { DatedAnswer, FromMessageThread } from './thread-protocol.js'

export class ThreadResolver implements KeepingResolver {
  private readonly kept = new KeptAnswers()
  private readonly waiting = new Map<number, (answer: AnswerUntil) => void>()
  private lastId = 0
  private pendingQueries: (readonly [number, DnsQuery])[] = []

  constructor(
    private readonly port: MessagePort,
    private readonly clock: Clock,
  ) {}

  findKept(key: string): FoundAnswer | undefined {
    return this.kept.find(key, this.clock())
  }

  async resolveRecords(name: string, type: RecordType): Promise<LookupResult<string>> {
    return (await this.resolve({ name, type })) as LookupResult<string>
  }

  async resolveMx(name: string): Promise<LookupResult<MxRecord>> {
    return (await this.resolve({ name, type: 'MX' })) as LookupResult<MxRecord>
  }

  onAnswers(answers: readonly DatedAnswer[]): void {
    for (const [question, answer, freshUntil] of answers) {
      this.waiting.get(question)?.([answer, freshUntil])
      this.waiting.delete(question)
    }
  }

  private async resolve(query: DnsQuery): Promise<FoundAnswer> {
    const [answer, freshUntil] = await this.ask(query)
    this.kept.keep(toAnswerKey(query.name, query.type), answer, freshUntil, this.clock())
    return answer
  }

  private ask(query: DnsQuery): Promise<AnswerUntil> {
    return new Promise((resolve) => {
      this.lastId += 1
      this.waiting.set(this.lastId, resolve)
      if (this.pendingQueries.length === 0) setImmediate(() => this.postQueries())
      this.pendingQueries.push([this.lastId, query])
    })
  }

  private postQueries(): void {
    this.port.postMessage({ kind: 'questions', questions: this.pendingQueries } satisfies FromMessageThread)
    this.pendingQueries = []
  }
}

type AnswerUntil = readonly [answer: FoundAnswer, freshUntil: number]
