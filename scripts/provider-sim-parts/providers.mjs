// Five mailbox providers with the limits that such providers publish or are known for, at a pace that a test can wait for.
//
// `hosts` are names of MX hosts by which Posthorn recognizes four of them; the fifth it does not know. Rates are messages
// a second from one address. `service`: milliseconds that the server takes for a message.

export const providers = [
  {
    name: 'google',
    address: '127.0.1.1',
    domain: 'gmail.com',
    hosts: ['gmail-smtp-in.l.google.com', 'alt1.gmail-smtp-in.l.google.com'],
    service: 20,
    sessions: 20,
    rate: { kind: 'bucket', perSecond: 120, burst: 240 },
    messagesPerSession: 100,
    refusals: {
      sessions: '421 4.7.0 Try again later, closing connection: too many sessions from this address',
      rate: '421-4.7.28 Our system has detected an unusual rate of unsolicited mail originating from your IP address.\r\n421 4.7.28 To protect our users, mail has been temporarily rate limited.',
      perSession: '421 4.7.0 Too many messages in this session, closing connection',
    },
  },
  {
    name: 'microsoft',
    address: '127.0.1.2',
    domain: 'hotmail.com',
    hosts: ['hotmail-com.olc.protection.outlook.com'],
    service: 50,
    sessions: 10,
    rate: { kind: 'fixed', perSecond: 100, window: 30_000 },
    content: 500,
    refusals: {
      sessions: '451 4.7.652 The mail server [127.0.0.1] has exceeded the maximum number of connections. (S3115)',
      rate: '451 4.7.651 The mail server [127.0.0.1] has been temporarily rate limited due to IP reputation. (S775)',
    },
  },
  {
    name: 'yahoo',
    address: '127.0.1.3',
    domain: 'yahoo.com',
    hosts: ['mta5.am0.yahoodns.net', 'mta6.am0.yahoodns.net', 'mta7.am0.yahoodns.net'],
    service: 20,
    sessions: 5,
    rate: { kind: 'sliding', perSecond: 60, window: 10_000 },
    messagesPerSession: 20,
    refusals: {
      sessions: '421 4.7.0 [TSS09] Too many connections from 127.0.0.1',
      rate: '421 4.7.0 [TSS04] Messages from 127.0.0.1 temporarily deferred due to unexpected volume or user complaints',
      perSession: '421 4.7.0 Max message per connection reached, closing transmission channel',
    },
  },
  {
    name: 'gmx',
    address: '127.0.1.4',
    domain: 'gmx.net',
    hosts: ['mx00.emig.gmx.net', 'mx01.emig.gmx.net'],
    service: 50,
    sessions: 5,
    greylisting: { delay: 45_000, passes: 5 },
    refusals: {
      sessions: '421 gmx.net Service closing transmission channel, too many concurrent connections from your address',
      greylisting: '451 4.7.1 Greylisted, please try again in 45 seconds',
    },
  },
  {
    name: 'unknown',
    address: '127.0.1.5',
    domain: 'isp.test',
    hosts: ['mx1.isp.test'],
    service: 30,
    sessions: 4,
    rate: { kind: 'sliding', perSecond: 40, window: 5_000 },
    // From the first minute on, counted from the first message.
    block: { from: 60_000, length: 45_000 },
    refusals: {
      sessions: '421 4.7.0 mx1.isp.test Error: too many connections from 127.0.0.1',
      rate: '450 4.7.1 Error: too much mail from 127.0.0.1',
      block: '554 5.7.1 mx1.isp.test blocked: your address [127.0.0.1] is listed for poor reputation',
    },
  },
]

/** Messages a second that the provider takes from one address. */
export function allowedPace({ rate, sessions, service }) {
  return Math.min(rate?.perSecond ?? Number.POSITIVE_INFINITY, (sessions * 1000) / service)
}

/** How many of all messages go to each provider: as many as it takes in the same time. */
export function divide(messages) {
  const total = providers.reduce((sum, provider) => sum + allowedPace(provider), 0)
  return new Map(providers.map((provider) => [provider.name, Math.round((messages * allowedPace(provider)) / total)]))
}
