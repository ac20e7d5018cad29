/** Settings of `[sms]` that contradict each other, or that a provider lacks. */
import type { Problem } from './problems.js'
import type { Settings } from './schema.js'

type Sms = Settings['sms']

export function findSmsContradictions(sms: Sms): readonly Problem[] {
  return [...findIncompleteProvider(sms), ...findForeignSender(sms), ...findBadTemplate(sms.http)]
}

function findIncompleteProvider({ provider, http, smpp }: Sms): readonly Problem[] {
  const lack = (key: string): Problem => ({ key, message: `found nothing; needed by sms.provider = "${provider}"` })
  if (provider === 'http') return http.url === null ? [lack('sms.http.url')] : []
  if (provider !== 'smpp') return []
  return [
    ...(smpp.url === null ? [lack('sms.smpp.url')] : []),
    ...(smpp.system_id === '' ? [lack('sms.smpp.system_id')] : []),
  ]
}

/** Only Twilio has messaging services. */
function findForeignSender({ provider, sender, http }: Sms): readonly Problem[] {
  if (!/^MG[0-9a-f]{32}$/.test(sender) || provider === '') return []
  if (provider === 'http' && http.style === 'twilio') return []
  const message = 'found the id of a messaging service; allowed: with sms.provider = "http" and its style "twilio"'
  return [{ key: 'sms.sender', message }]
}

/** The template may hold a password, so no message repeats it. */
function findBadTemplate({ style, body_template: template }: Sms['http']): readonly Problem[] {
  if (style !== 'template') return []
  const key = 'sms.http.body_template'
  const absent = ['{to}', '{text}'].filter((placeholder) => !template.includes(placeholder))
  if (absent.length > 0) return [{ key, message: `found none of ${absent.join(', ')}; allowed: a text with both` }]
  if (!/^\s*[{[]/.test(template) || isJson(template.replaceAll(/\{[a-z_]+\}/g, 'x'))) return []
  return [{ key, message: 'found no JSON; allowed: JSON with its placeholders inside of strings, XML, or a form' }]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
