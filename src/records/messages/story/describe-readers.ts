/** Tells what the readers of an email did, and what programs did in their place: opens, clicks, complaints. Pure. */
import { MAX_EVENTS, type StoryEvent } from './story-facts.js'

interface ReaderStep {
  readonly kind: 'opened' | 'clicked' | 'complained' | 'unsubscribed'
  readonly at: string
  readonly title: string
  readonly sentences: readonly string[]
}

/** Links that a story names. */
const MAX_LINKS = 5

const SHARED = 'All recipients got the same message, so another of them may have done it.'
const BY_PROGRAM = 'A program that scans or shows mail did it, which says nothing about the person.'

/** `isShared` says that several recipients have the same pixel and links. */
export function describeReaders(events: readonly StoryEvent[], isShared: boolean): readonly ReaderStep[] {
  const byType = (type: StoryEvent['type']): readonly StoryEvent[] => events.filter((event) => event.type === type)
  const shared = isShared ? [SHARED] : []
  const [complaint] = byType('email.complained')
  const [unsubscription] = byType('email.unsubscribed')
  return [
    ...describeOpens(byType('email.opened'), shared),
    ...describeClicks(byType('email.clicked'), shared),
    ...(complaint === undefined ? [] : [describeComplaint(complaint)]),
    ...(unsubscription === undefined ? [] : [describeUnsubscription(unsubscription)]),
  ]
}

function describeOpens(opens: readonly StoryEvent[], shared: readonly string[]): readonly ReaderStep[] {
  return [false, true].flatMap((byProgram) => {
    const some = opens.filter(({ data }) => (data['machine'] === true) === byProgram)
    const [first] = some
    if (first === undefined) return []
    const title = byProgram ? 'Loaded by a program' : 'Opened'
    const sentences = [...describeCount(some), ...(byProgram ? [BY_PROGRAM] : shared)]
    return [{ kind: 'opened' as const, at: first.at, title, sentences }]
  })
}

function describeCount(events: readonly StoryEvent[]): readonly string[] {
  const last = events.at(-1)
  if (last === undefined || events.length < 2) return []
  if (events.length >= MAX_EVENTS) return [`At least ${MAX_EVENTS} times. The events have all of them.`]
  return [`${events.length} times, the last time at ${last.at}.`]
}

function describeClicks(clicks: readonly StoryEvent[], shared: readonly string[]): readonly ReaderStep[] {
  const firsts = new Map<string, StoryEvent>()
  for (const click of clicks) {
    const link = textOf(click, 'link') ?? ''
    if (!firsts.has(link)) firsts.set(link, click)
  }
  const rest = firsts.size - MAX_LINKS
  return [...firsts].slice(0, MAX_LINKS).map(([link, click], place) => ({
    kind: 'clicked' as const,
    at: click.at,
    title: click.data['machine'] === true ? 'Link followed by a program' : 'Clicked',
    sentences: [
      link,
      ...(click.data['machine'] === true ? [BY_PROGRAM] : shared),
      ...(place === MAX_LINKS - 1 && rest > 0
        ? [`The events have ${rest} more ${rest === 1 ? 'link' : 'links'}.`]
        : []),
    ],
  }))
}

function describeComplaint(event: StoryEvent): ReaderStep {
  const sentences = ['The recipient reported the email as spam.']
  return { kind: 'complained', at: event.at, title: 'Reported as spam', sentences }
}

function describeUnsubscription(event: StoryEvent): ReaderStep {
  return {
    kind: 'unsubscribed',
    at: event.at,
    title: 'Unsubscribed',
    sentences: ['The recipient wants no more such email.'],
  }
}

function textOf({ data }: StoryEvent, name: string): string | null {
  const value = data[name]
  return typeof value === 'string' ? value : null
}
