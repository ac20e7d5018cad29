/**
 * The DNS queries of a thread to which it has no answer: those of one turn of the event loop go to the main thread
 * together.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../../../base/platform/clock.js'
import type { LookupResult, MxRecord } from '../../../base/platform/dns/resolver.js'
import type { KeepingResolver } from '../authentication/dns-queries.js'
import { createKeptAnswers, type DnsQuery, type FoundAnswer, toAnswerKey } from '../authentication/kept-answers.js'
import type { DatedAnswer, FromMessageThread } from './thread-protocol.js'

export interface ThreadResolver {
  readonly resolver: KeepingResolver
  readonly onAnswers: (answers: readonly DatedAnswer[]) => void
}

export function createThreadResolver(port: MessagePort, clock: Clock): ThreadResolver {
  const kept = createKeptAnswers()
  const { ask, onAnswers } = createQuestions(port)
  async function resolve(query: DnsQuery): Promise<FoundAnswer> {
    const [answer, freshUntil] = await ask(query)
    kept.keep(toAnswerKey(query.name, query.type), answer, freshUntil, clock())
    return answer
  }
  return {
    resolver: {
      findKept: (key) => kept.find(key, clock()),
      resolveRecords: async (name, type) => (await resolve({ name, type })) as LookupResult<string>,
      resolveMx: async (name) => (await resolve({ name, type: 'MX' })) as LookupResult<MxRecord>,
    },
    onAnswers,
  }
}

interface Questions {
  readonly ask: (query: DnsQuery) => Promise<readonly [answer: FoundAnswer, freshUntil: number]>
  readonly onAnswers: ThreadResolver['onAnswers']
}

function createQuestions(port: MessagePort): Questions {
  const waiting = new Map<number, (answer: readonly [FoundAnswer, number]) => void>()
  let lastId = 0
  let pendingQueries: (readonly [number, DnsQuery])[] = []

  function postQueries(): void {
    port.postMessage({ kind: 'questions', questions: pendingQueries } satisfies FromMessageThread)
    pendingQueries = []
  }

  return {
    ask: (query) =>
      new Promise((resolve) => {
        lastId += 1
        waiting.set(lastId, resolve)
        if (pendingQueries.length === 0) setImmediate(postQueries)
        pendingQueries.push([lastId, query])
      }),
    onAnswers: (answers) => {
      for (const [question, answer, freshUntil] of answers) {
        waiting.get(question)?.([answer, freshUntil])
        waiting.delete(question)
      }
    },
  }
}
