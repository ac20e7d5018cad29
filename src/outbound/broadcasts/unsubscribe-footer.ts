/**
 * Writes the footer of a message of a broadcast that has no unsubscribe link: why its recipient gets it, the link, and
 * the postal address of the workspace.
 *
 * The HTML sets its own colours, so that it is readable whatever the colours of the message are.
 */
import type { Language } from '../../base/mail/language.js'
import { escapeHtml } from '../../base/mail/markup.js'
import type { MailFooter } from '../../workspaces/accounts/workspace/mail-footer.js'

interface FooterWords {
  readonly reason: string
  readonly unsubscribe: string
}

const words: Readonly<Record<Language, FooterWords>> = {
  en: { reason: 'You get this email because you are subscribed.', unsubscribe: 'Unsubscribe' },
  de: { reason: 'Sie erhalten diese E-Mail, weil Sie sie abonniert haben.', unsubscribe: 'Abbestellen' },
  fr: { reason: 'Vous recevez cet e-mail en raison de votre abonnement.', unsubscribe: 'Se désabonner' },
  es: { reason: 'Recibe este correo debido a su suscripción.', unsubscribe: 'Cancelar la suscripción' },
  it: { reason: 'Riceve questa e-mail in seguito alla sua iscrizione.', unsubscribe: 'Annulla l’iscrizione' },
  nl: { reason: 'U ontvangt deze e-mail omdat u bent ingeschreven.', unsubscribe: 'Uitschrijven' },
  pt: { reason: 'Recebe este e-mail por causa da sua inscrição.', unsubscribe: 'Cancelar a inscrição' },
  pl: { reason: 'Otrzymujesz tę wiadomość, ponieważ masz subskrypcję.', unsubscribe: 'Zrezygnuj z subskrypcji' },
}

export function buildHtmlFooter(url: string, { language, postalAddress }: MailFooter): string {
  const { reason, unsubscribe } = words[language]
  const box = 'margin:24px 0 0;padding:16px;background-color:#ffffff;color:#444444;font:14px/1.5 Arial,sans-serif'
  const link = `<a href="${escapeHtml(url)}" style="color:#1a4fa0;text-decoration:underline">${unsubscribe}</a>`
  const address = listLines(postalAddress).map((line) => `<br>${escapeHtml(line)}`)
  return `<div lang="${language}" style="${box};text-align:center">${reason} ${link}${address.join('')}</div>`
}

export function buildTextFooter(url: string, { language, postalAddress }: MailFooter): string {
  const { reason, unsubscribe } = words[language]
  const address = listLines(postalAddress).map((line) => `${line}\n`)
  return `\n\n${reason} ${unsubscribe}:\n${url}\n${address.length === 0 ? '' : `\n${address.join('')}`}`
}

function listLines(postalAddress: string | null): readonly string[] {
  return postalAddress === null ? [] : postalAddress.split('\n').map((line) => line.trim())
}
