/** The bytes that a client network brings in a minute: what has room, what is owed, and who is served beside a flood. */
import t from 'tap'
import { originOf } from '../../../../src/base/platform/connections/client-address.js'
import { ByteRate, SessionBytes } from '../../../../src/servers/smtp/mx/byte-rate.js'

const MINUTE = 60_000

function openRate() {
  const limits = { bytes_per_minute: 800, max_size: 500 }
  const time = { now: 0 }
  const rate = new ByteRate(
    () => limits,
    100,
    () => time.now,
  )
  const sessionOf = (address: string | null): SessionBytes =>
    new SessionBytes(rate, { origin: address === null ? null : originOf(address) })
  /** False: refused before it came. */
  const bring = (address: string, size: number): boolean => {
    const session = sessionOf(address)
    if (!session.hasRoom(size) || !session.begin(size)) return false
    session.receive(size)
    session.end()
    return true
  }
  return { limits, time, sessionOf, bring }
}

t.test('a network brings its rate, and more as time passes', async (t) => {
  const { time, bring } = openRate()
  t.same(
    [300, 300, 300, 200, 1].map((size) => bring('192.0.2.1', size)),
    [true, true, false, true, false],
  )
  time.now = MINUTE / 2
  t.same(
    [401, 400, 1].map((size) => bring('192.0.2.1', size)),
    [false, true, false],
  )
  t.ok(bring('192.0.3.1', 500), 'another network has its own')
})

t.test('addresses of one network share its rate', async (t) => {
  for (const [one, other, foreign] of [
    ['192.0.2.1', '192.0.2.9', '192.0.3.1'],
    ['2001:db8:1:1::1', '2001:db8:1:1::2', '2001:db8:2::1'],
    ['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:2::1'],
  ] as const) {
    const { bring } = openRate()
    t.ok(bring(one, 500))
    t.ok(bring(other, 300))
    t.notOk(bring(other, 50))
    t.ok(bring(foreign, 500))
  }
})

t.test('a neighbour that brought little is served beside a flood, as long as the reserve lasts', async (t) => {
  const { bring, time } = openRate()
  while (bring('192.0.2.1', 100));
  t.same(
    [60, 60].map((size) => bring('192.0.2.2', size)),
    [true, false],
    'an eighth of the rate',
  )
  for (let host = 3; host < 11; host += 1) bring(`192.0.2.${host}`, 100)
  t.notOk(bring('192.0.2.100', 100), 'the reserve is used up')
  time.now = MINUTE / 8
  t.ok(bring('192.0.2.1', 100))
  t.notOk(bring('192.0.2.1', 10), 'the flood itself gets nothing from the reserve')
})

t.test('a message larger than the rate comes into a network that used nothing', async (t) => {
  const { limits, bring, time } = openRate()
  limits.bytes_per_minute = 100
  t.ok(bring('192.0.2.1', 450))
  time.now = 3 * MINUTE
  t.notOk(bring('192.0.2.1', 1), 'what exceeds the rate is owed')
  time.now = 5 * MINUTE
  t.ok(bring('192.0.2.1', 450))
})

t.test('bytes of undeclared size count as they come; beyond one largest message none is kept', async (t) => {
  const { sessionOf, time } = openRate()
  const sessions = Array.from({ length: 3 }, () => sessionOf('192.0.2.1'))
  for (const session of sessions) t.ok(session.begin(0))
  const kept = Array.from({ length: 5 }, () => sessions.map((session) => session.receive(100)))
  t.equal(kept.flat().filter((isKept) => isKept).length, 12)
  t.notOk(sessionOf('192.0.2.1').hasRoom(0))
  for (let times = 0; times < 1_000; times += 1) sessions[0]?.receive(100)
  time.now = 2 * MINUTE
  t.ok(sessionOf('192.0.2.1').hasRoom(500), 'discarded bytes do not shut the network out for longer')
})

t.test(
  'a declared size is taken before the message comes; what has not come is given back, what is more is added',
  async (t) => {
    const { sessionOf } = openRate()
    const [broken, lying, third] = [sessionOf('192.0.2.1'), sessionOf('192.0.2.1'), sessionOf('192.0.2.1')]
    t.ok(broken.begin(500))
    t.notOk(third.hasRoom(301))
    broken.receive(100)
    broken.end()
    broken.end()
    t.ok(third.hasRoom(700))
    t.notOk(third.hasRoom(701))
    t.ok(lying.begin(1))
    t.ok(lying.receive(400))
    t.notOk(third.hasRoom(301))
    t.ok(third.hasRoom(300))
  },
)

t.test('a connection whose client is not known is not limited, and a new rate holds at once', async (t) => {
  const { limits, sessionOf, bring } = openRate()
  t.ok(sessionOf(null).begin(1_000_000))
  t.ok(bring('192.0.2.1', 500))
  limits.bytes_per_minute = 100
  t.ok(bring('192.0.2.1', 100))
  t.notOk(bring('192.0.2.1', 100), 'the tokens that it had are bounded by the new rate')
})
