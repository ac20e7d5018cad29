/** Who is greylisted at RCPT, and in which order it is asked. */
import t from 'tap'
import { parseAddress } from '../../../../src/base/mail/address.js'
import { findGreylistReply } from '../../../../src/servers/smtp/mx/greylist-recipient.js'

const tuple = { client: '192.0.2.1', sender: parseAddress('ann@b.test'), recipient: parseAddress('info@home.test') }
const listing = { zone: 'list.test' }

interface Case {
  readonly name: string
  readonly setting: 'default' | 'on' | 'off' | null
  readonly listings?: readonly object[]
  readonly seconds?: number
  /** The service greylists, and the client is not exempt. */
  readonly applies?: boolean
  readonly text: string | null
  /** Whether the tuple is remembered. */
  readonly asked: boolean
}

const cases: readonly Case[] = [
  { name: 'a mailbox', setting: 'default', text: 'Greylisted, please try again in 300 seconds', asked: true },
  { name: 'known', setting: 'default', seconds: 0, text: null, asked: true },
  { name: 'a system address', setting: null, text: null, asked: false },
  { name: 'off, or exempt', setting: 'off', applies: false, text: null, asked: false },
  { name: 'on an allow list', setting: 'on', listings: [listing], text: null, asked: false },
]

t.test('who has to wait', async (t) => {
  for (const { name, setting, listings = [], seconds = 300, applies = true, text, asked } of cases) {
    let checks = 0
    const greylist: Parameters<typeof findGreylistReply>[0] = {
      applies: (given, client) => {
        t.same([given, client], [setting, tuple.client], name)
        return applies
      },
      check: async () => {
        checks += 1
        return seconds
      },
    }
    const reply = await findGreylistReply(greylist, setting, tuple, Promise.resolve(listings))
    t.same(reply, text === null ? null : { code: 451, status: '4.7.1', text }, name)
    t.equal(checks, asked ? 1 : 0, name)
  }
})
