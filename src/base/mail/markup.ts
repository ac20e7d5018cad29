/**
 * HTML templates that escape every value unless it is `Markup`:
 *
 *     html`<p>${name}</p>`
 *
 * Values are escaped for element content and for attribute values in double quotes, and must not stand
 * elsewhere. Control characters that HTML does not allow are removed.
 */

export class Markup {
  constructor(readonly text: string) {}
}

type MarkupValue = string | number | Markup | readonly Markup[] | null

export function html(parts: TemplateStringsArray, ...values: readonly MarkupValue[]): Markup {
  return new Markup(parts.reduce((text, part, at) => text + renderValue(values[at - 1] ?? null) + part))
}

function renderValue(value: MarkupValue): string {
  if (value === null) return ''
  if (value instanceof Markup) return value.text
  if (typeof value === 'object') return value.map(({ text }) => text).join('')
  return escapeHtml(String(value))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[^\P{Cc}\t\n\r]/gu, '').replace(/[&<>"']/g, (character) => entities[character] ?? '')
}
