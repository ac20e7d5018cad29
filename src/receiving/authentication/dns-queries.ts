/**
 * The DNS questions of one message, within limits that the sender cannot stretch.
 *
 * Each question has a time limit and the message as a whole has one; each check has its own
 * number of questions, so that twenty signatures never use up what DMARC needs. An answer is
 * kept for the message: a question that two checks ask counts once.
 *
 * What is thrown has the codes that mailauth reads: ENOTFOUND and ENODATA say that there is
 * nothing; every other code is a fault, and becomes `temperror`.
 *
 * Known limit: a question that ran out of time is not cancelled; the resolver's own limit ends it.
 */
import type { DNSResolver } from 'mailauth'
import type { Clock } from '../../platform/clock.js'
import type { LookupResult, RecordResolver, RecordType } from '../../platform/dns/resolver.js'

export interface QueryLimits {
  /** Milliseconds. */
  readonly perQuery: number
  readonly perMessage: number
}

export const defaultQueryLimits: QueryLimits = { perQuery: 5_000, perMessage: 20_000 }

/** Of a DNS question in mailauth's manner. */
export class NoDnsAnswer extends Error {
  constructor(
    readonly code: 'ENOTFOUND' | 'ENODATA' | 'ETIMEOUT' | 'ELOOKUPLIMIT' | 'EDNSFAULT',
    message: string,
  ) {
    super(message)
  }

  /** The name does not exist, or has no such record: that is an answer. */
  get isEmpty(): boolean {
    return this.code === 'ENOTFOUND' || this.code === 'ENODATA'
  }
}

export interface MessageQueries {
  /** A resolver for one check: at most `most` questions that no other check has asked. */
  readonly createResolver: (most: number) => DNSResolver
}

type RunQuery = () => Promise<readonly unknown[]>

export function createMessageQueries(resolver: RecordResolver, limits: QueryLimits, clock: Clock): MessageQueries {
  const until = clock() + limits.perMessage
  const answers = new Map<string, Promise<readonly unknown[]>>()
  return {
    createResolver: (most) => {
      let left = most
      const ask = async (name: string, type: string): Promise<readonly unknown[]> => {
        const key = `${type} ${name.toLowerCase()}`
        const known = answers.get(key)
        if (known !== undefined) return known
        if (left === 0) throw new NoDnsAnswer('ELOOKUPLIMIT', `more than ${most} DNS questions`)
        left -= 1
        const time = Math.min(limits.perQuery, until - clock())
        const asked = withTimeout(createQuery(resolver, name, type), time, key)
        answers.set(key, asked)
        return asked
      }
      // mailauth declares lists of text for all types, and reads objects for MX.
      return async (name, type) => [...(await ask(name, type))] as string[]
    },
  }
}

const textTypes: readonly string[] = ['A', 'AAAA', 'TXT', 'PTR', 'CNAME'] satisfies readonly RecordType[]

function isTextType(type: string): type is RecordType {
  return textTypes.includes(type)
}

function createQuery(resolver: RecordResolver, name: string, type: string): RunQuery {
  return async () => {
    if (type === 'MX') {
      const found = recordsOf(await resolver.resolveMx(name), name)
      return found.map(({ exchange, preference }) => ({ exchange, priority: preference }))
    }
    if (!isTextType(type)) throw new NoDnsAnswer('EDNSFAULT', `no questions for ${type} records`)
    const found = recordsOf(await resolver.resolveRecords(name, type), name)
    return type === 'TXT' ? found.map((text) => [text]) : found
  }
}

function recordsOf<T>(lookup: LookupResult<T>, name: string): readonly T[] {
  switch (lookup.kind) {
    case 'records':
      return lookup.records
    case 'no-data':
      throw new NoDnsAnswer('ENODATA', `no such record at ${name}`)
    case 'no-domain':
      throw new NoDnsAnswer('ENOTFOUND', `no such name: ${name}`)
    case 'failure':
      throw new NoDnsAnswer(lookup.detail === 'TIMEOUT' ? 'ETIMEOUT' : 'EDNSFAULT', `DNS ${lookup.detail} for ${name}`)
  }
}

async function withTimeout(ask: RunQuery, time: number, key: string): Promise<readonly unknown[]> {
  // An error collects its stack when it is made, and hardly any question is late.
  const timeoutError = (): NoDnsAnswer => new NoDnsAnswer('ETIMEOUT', `no answer in time for ${key}`)
  if (time <= 0) throw timeoutError()
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(timeoutError()), time)
  })
  try {
    return await Promise.race([ask(), limit])
  } finally {
    clearTimeout(timer)
  }
}
