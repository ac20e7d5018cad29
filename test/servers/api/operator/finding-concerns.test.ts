/** Findings of the checks as concerns: those with one cause are one. */
import t from 'tap'
import { toRunConcerns } from '../../../../src/servers/api/operator/finding-concerns.js'

const dns = {
  ...({ check: 'dns', subject: '127.0.0.1:5353', state: 'fail', node: '' } as const),
  text: 'DNS does not answer: no answer for gmail.com (CONNREFUSED); no mail goes out',
  remedy: ['dig @127.0.0.1 -p 5353 gmail.com MX', '[dns]', 'servers = ["ADDRESS"]'],
  ...{ failedAt: 0, checkedAt: 0, isNoticed: false },
}
const unanswered = (check: string, node = '') => ({ check, subject: 'a.test', text: 'no answer', remedy: [], node })

t.test('checks that a silent DNS server prevents are part of its concern', async (t) => {
  const concerns = toRunConcerns([dns], [unanswered('ptr'), unanswered('dkim'), unanswered('clock-drift')])
  t.match(concerns, [
    {
      title: 'The DNS server 127.0.0.1:5353 does not answer; 2 checks could not be made',
      severity: 'bad',
      remedy: ['dig @127.0.0.1 -p 5353 gmail.com MX', '[dns]\nservers = ["ADDRESS"]'],
      affected: ['ptr a.test: no answer', 'dkim a.test: no answer'],
    },
    { severity: 'unanswered', title: 'a.test: no answer' },
  ])
  t.equal(concerns.length, 2)
})

t.test('each node has its own DNS servers', async (t) => {
  const concerns = toRunConcerns([{ ...dns, node: 'one' }], [unanswered('ptr', 'one'), unanswered('ptr', 'two')])
  t.same(
    concerns.map(({ title }) => title),
    [
      'The DNS server 127.0.0.1:5353 does not answer; 1 check could not be made (node one)',
      'a.test on node two: no answer',
    ],
  )
})

t.test('the servers of the system have no address, and several servers are named', async (t) => {
  for (const [subject, title] of [
    ["the system's servers", 'The DNS servers of the system do not answer'],
    ['192.0.2.1, 192.0.2.2', 'The DNS servers 192.0.2.1, 192.0.2.2 do not answer'],
  ] as const) {
    t.match(toRunConcerns([{ ...dns, subject }], []), [{ title, affected: [] }])
  }
  t.match(toRunConcerns([], [unanswered('ptr')]), [{ severity: 'unanswered' }], 'without a cause, it stands alone')
})
