/** Sessions and requests: accepted, turned away, and how long a client waits until its message is stored. */
import type { Metrics } from './registry.js'

/** Listeners whose sessions are counted. */
const listeners = ['submission', 'mx', 'rest'] as const
type ListenerName = (typeof listeners)[number]

/** Reasons of all listeners; each uses some of them. */
const turnAwayReasons = [
  ...[
    'connections',
    'connections-of-address',
    'connections-of-network',
    'idle',
    'too-slow',
    'deadline',
    'faults',
    'commands',
  ],
  ...[
    'banned',
    'login-timeout',
    'connection-rate',
    'message-rate',
    'byte-rate',
    'early-talker',
    'memory',
    'harvest',
    'listed',
  ],
  ...['unknown-recipient', 'relay-denied', 'recipient-blocked', 'mailbox-full', 'no-operator', 'system-mail-size'],
  ...['greylisted', 'other'],
]

/** The reports of a listener. */
interface SessionObserver {
  readonly onSession: () => void
  readonly onTurnedAway: (reason: string) => void
  /** A message was answered with this reply code, so many milliseconds after its last byte. */
  readonly onMessage: (code: number, milliseconds: number) => void
}

interface EndedRequest {
  readonly method: string | undefined
  /** Undefined if no route has the path. */
  readonly route: string | undefined
  readonly status: number
  readonly milliseconds: number
}

export interface SessionObservers {
  readonly observeListener: (name: ListenerName) => SessionObserver
  readonly onRequest: (request: EndedRequest) => void
}

interface OpenSessions {
  readonly submission: () => number
  readonly mx: () => number
  readonly rest: () => number
}

const ACCEPTANCE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const CREATED = 201
/** Routes that answer 201 once an email is stored. */
const emailRoutes: ReadonlySet<string | undefined> = new Set(['/emails', '/emails/batch', '/inbound/:id/reply'])

export function createSessionObservers(metrics: Metrics): SessionObservers {
  const sessions = metrics.counter({
    name: 'posthorn_sessions_total',
    help: 'Connections that a listener has accepted. Those that were turned away before are not among them.',
    labels: { listener: listeners },
  })
  const turnedAway = metrics.counter({
    name: 'posthorn_turned_away_total',
    help: 'Clients, recipients and messages that a listener has turned away, by reason.',
    labels: { listener: listeners, reason: turnAwayReasons },
  })
  const acceptance = metrics.histogram({
    name: 'posthorn_acceptance_seconds',
    help: 'Time from the last byte of a message to its 250, or from a request to its 201: checks and the commit.',
    labels: { listener: listeners },
    buckets: ACCEPTANCE_BUCKETS,
  })
  const messages = metrics.counter({
    name: 'posthorn_messages_total',
    help: 'Messages that were answered after their last byte, over SMTP by class of the reply code, over REST those accepted.',
    labels: { listener: listeners, class: ['2xx', '4xx', '5xx'] },
  })
  const countMessage = (listener: ListenerName, code: number, milliseconds: number): void => {
    messages.add([listener, classOf(code)])
    if (code < 300) acceptance.observe([listener], milliseconds / 1_000)
  }
  return {
    observeListener: (name) => ({
      onSession: () => sessions.add([name]),
      onTurnedAway: (reason) => turnedAway.add([name, reason]),
      onMessage: (code, milliseconds) => countMessage(name, code, milliseconds),
    }),
    onRequest: createRequestObserver(metrics, (milliseconds) => countMessage('rest', CREATED, milliseconds)),
  }
}

function createRequestObserver(
  metrics: Metrics,
  onEmail: (milliseconds: number) => void,
): SessionObservers['onRequest'] {
  const requests = metrics.counter({
    name: 'posthorn_requests_total',
    help: 'Requests to the API, pages and links included, by class of the status.',
    labels: { class: ['1xx', '2xx', '3xx', '4xx', '5xx'] },
  })
  return ({ method, route, status, milliseconds }) => {
    requests.add([classOf(status)])
    if (status === CREATED && method === 'POST' && emailRoutes.has(route)) onEmail(milliseconds)
  }
}

function classOf(code: number): string {
  return `${Math.floor(code / 100)}xx`
}

export function reportOpenSessions(metrics: Metrics, open: OpenSessions): void {
  const gauge = metrics.gauge({
    name: 'posthorn_sessions_open',
    help: 'Open connections of a listener.',
    labels: { listener: listeners },
  })
  metrics.onScrape(() => {
    for (const name of listeners) gauge.set([name], open[name]())
  })
}
