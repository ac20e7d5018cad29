/** Words by which the search finds a page that is not named after them. */
const words: Readonly<Record<string, string>> = {
  '/emails': 'sent mail message delivery bounce scheduled test',
  '/domains': 'dns dkim spf dmarc mx certificate tls tracking sender verify receiving forward address',
  '/suppressions': 'blocked bounced complaint unsubscribed blacklist',
  '/inbound': 'received incoming reply spam attachment',
  '/audiences': 'list import csv subscribers newsletter',
  '/contacts': 'people subscribers address import unsubscribe',
  '/broadcasts': 'newsletter campaign draft send',
  '/templates': 'design layout variables html preview',
  '/metrics': 'statistics numbers opens clicks rates chart',
  '/events': 'history log sms text',
  '/exports': 'download csv backup data',
  '/workspace': 'settings language footer postal address name delete',
  '/keys': 'token secret smtp password integration program',
  '/webhooks': 'callback notification url signing secret',
  '/members': 'users team invite role owner admin people',
  '/audit-log': 'history changes who security',
  '/usage': 'limits plan quota',
  '/account': 'password name second factor two-factor 2fa sessions sign-out theme dark light color scheme',
  '/help': 'documentation manual guide',
  '/operator/workspaces': 'customers tenants plan users password',
  '/operator/queue': 'hold release retry waiting deferred',
  '/operator/spam': 'learn ham filter',
  '/operator/suppressions': 'blocked addresses bounced',
  '/operator/sms-holds': 'text message phone',
  '/operator/health': 'certificate tls disk backup update blocklist dns warning status',
  '/operator/log': 'errors lines warnings',
}

/** Returns true if a word of the page begins with the text. */
export function hasWord(path: string, text: string): boolean {
  return ` ${words[path] ?? ''}`.includes(` ${text}`)
}
