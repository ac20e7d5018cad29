/** Which opens and clicks come from machines, by agent, network and time. */
import t from 'tap'
import { isMachineClick, isMachineOpen } from '../../../src/outbound/tracking/machine.js'

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
const EDGE = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135'
const delivered = { deliveredAt: 0, isUnderWay: false }
const LATER = 3_600_000

/** Agent, address, and whether an open and a click an hour after the delivery are a machine's. */
const requesters: readonly (readonly [agent: string | null, address: string, open: boolean, click: boolean])[] = [
  [FIREFOX, '192.0.2.1', false, false],
  [null, '192.0.2.1', false, false],
  ['', '192.0.2.1', false, false],
  ['Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17928; Pro)', '192.0.2.1', false, false],
  ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15', '172.225.1.1', false, false],
  [
    'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    '192.0.2.1',
    true,
    true,
  ],
  ['YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html', '192.0.2.1', true, true],
  // Mail Privacy Protection: the bare agent and a network of its egress, together.
  ['Mozilla/5.0', '192.0.2.1', false, false],
  ['Mozilla/5.0', '104.28.30.9', true, true],
  [' mozilla/5.0 ', '172.226.42.7', true, true],
  ['Mozilla/5.0', '146.75.168.84', true, true],
  ['Mozilla/5.0', '146.75.1.1', false, false],
  ['Mozilla/5.0', '2a02:26f7:b000:4000::1', true, true],
  ['Mozilla/5.0', '2606:54c3:0:777::1', true, true],
  ['Mozilla/5.0', '2a09:bac3:1e78::1', true, true],
  ['Mozilla/5.0', '::ffff:104.28.30.9', true, true],
  ['Mozilla/5.0 (Macintosh)', '104.28.30.9', false, false],
  // Gmail loads images with the agent of a browser too; from there nobody clicks, but a click may be a person's.
  [EDGE, '66.249.84.20', true, false],
  [EDGE, '2a00:1450:4001::2', true, false],
  [EDGE, '66.249.96.1', false, false],
  [null, '74.125.0.1', true, false],
  ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', '192.0.2.1', true, true],
  ['Twitterbot/1.0', '192.0.2.1', true, true],
  ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', '192.0.2.1', true, true],
  ['WhatsApp/2.23.20.0 A', '192.0.2.1', true, true],
  ['TelegramBot (like TwitterBot)', '192.0.2.1', true, true],
  ['Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)', '192.0.2.1', true, true],
  ['LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)', '192.0.2.1', true, true],
  [
    'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com',
    '::1',
    true,
    true,
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) BingPreview/1.0b', '192.0.2.1', true, true],
  ['Barracuda Sentinel (EE)', '192.0.2.1', true, true],
  ['curl/8.5.0', '192.0.2.1', false, false],
  ['python-requests/2.32.3', '192.0.2.1', false, false],
  ['Go-http-client/1.1', '192.0.2.1', false, false],
  ['SLACKBOT 1.0', 'not an address', true, true],
]

t.test('by agent and network', async (t) => {
  for (const [userAgent, address, open, click] of requesters) {
    const requester = { userAgent, address }
    t.equal(isMachineOpen(requester), open, `open: ${userAgent} from ${address}`)
    t.equal(isMachineClick(requester, delivered, LATER), click, `click: ${userAgent} from ${address}`)
  }
})

t.test('by the time since the delivery', async (t) => {
  const person = { userAgent: FIREFOX, address: '192.0.2.1' }
  for (const [deliveredAt, isUnderWay, at, click] of [
    [1_000, false, 1_000, true],
    [1_000, false, 2_999, true],
    [1_000, false, 3_000, false],
    [1_000, false, 500, true], // delivered while the click was on its way
    [null, true, 5_000, true],
    [null, false, 5_000, false], // in the queue: the sender tries a link
  ] as const) {
    const name = `delivered at ${deliveredAt}, under way: ${isUnderWay}, clicked at ${at}`
    t.equal(isMachineClick(person, { deliveredAt, isUnderWay }, at), click, name)
  }
  t.notOk(isMachineOpen(person), 'an open is not judged by its time')
})
