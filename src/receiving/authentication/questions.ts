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
import type { Lookup, RecordResolver, RecordType } from '../../platform/dns/resolver.js'

export interface QuestionLimits {
  /** Milliseconds. */
  readonly perQuestion: number
  readonly perMessage: number
}

export const defaultQuestionLimits: QuestionLimits = { perQuestion: 5_000, perMessage: 20_000 }

/** Of a DNS question in mailauth's manner. */
export class NoAnswer extends Error {
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

export interface Questions {
  /** A resolver for one check: at most `most` questions that no other check has asked. */
  readonly within: (most: number) => DNSResolver
}

type Ask = () => Promise<readonly unknown[]>

export function messageQuestions(resolver: RecordResolver, limits: QuestionLimits, clock: Clock): Questions {
  const until = clock() + limits.perMessage
  const answers = new Map<string, Promise<readonly unknown[]>>()
  return {
    within: (most) => {
      let left = most
      const ask = async (name: string, type: string): Promise<readonly unknown[]> => {
        const key = `${type} ${name.toLowerCase()}`
        const known = answers.get(key)
        if (known !== undefined) return known
        if (left === 0) throw new NoAnswer('ELOOKUPLIMIT', `more than ${most} DNS questions`)
        left -= 1
        const time = Math.min(limits.perQuestion, until - clock())
        const asked = timed(questionOf(resolver, name, type), time, key)
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

function questionOf(resolver: RecordResolver, name: string, type: string): Ask {
  return async () => {
    if (type === 'MX') {
      const found = recordsOf(await resolver.mx(name), name)
      return found.map(({ exchange, preference }) => ({ exchange, priority: preference }))
    }
    if (!isTextType(type)) throw new NoAnswer('EDNSFAULT', `no questions for ${type} records`)
    const found = recordsOf(await resolver.records(name, type), name)
    return type === 'TXT' ? found.map((text) => [text]) : found
  }
}

function recordsOf<T>(lookup: Lookup<T>, name: string): readonly T[] {
  switch (lookup.kind) {
    case 'records':
      return lookup.records
    case 'no-data':
      throw new NoAnswer('ENODATA', `no such record at ${name}`)
    case 'no-domain':
      throw new NoAnswer('ENOTFOUND', `no such name: ${name}`)
    case 'failure':
      throw new NoAnswer(lookup.detail === 'TIMEOUT' ? 'ETIMEOUT' : 'EDNSFAULT', `DNS ${lookup.detail} for ${name}`)
  }
}

async function timed(ask: Ask, time: number, key: string): Promise<readonly unknown[]> {
  // An error collects its stack when it is made, and hardly any question is late.
  const late = (): NoAnswer => new NoAnswer('ETIMEOUT', `no answer in time for ${key}`)
  if (time <= 0) throw late()
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), time)
  })
  try {
    return await Promise.race([ask(), limit])
  } finally {
    clearTimeout(timer)
  }
}
