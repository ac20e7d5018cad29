/** Names what mail programs will not show of a mail, or show in another way. It reads the HTML without running it. */

import { parseHtml } from '../../components/editor/parse-html.ts'

interface Concern {
  readonly id: string
  readonly text: string
}

interface Rule {
  readonly id: string
  /** A selector of the elements that are the fault. */
  readonly selector: string
  readonly explain: (count: number) => string
}

/** Gmail cuts a mail off after so many bytes. */
const CLIPPED_AT = 102 * 1_024

const times = (count: number, one: string, many = `${one}s`): string => (count === 1 ? `1 ${one}` : `${count} ${many}`)

const rules: readonly Rule[] = [
  {
    id: 'script',
    selector: 'script',
    explain: (count) =>
      `${times(count, 'script')}: no mail program runs scripts. Leave them out, because some filters refuse the mail.`,
  },
  {
    id: 'form',
    selector: 'form, input, select, textarea, button',
    explain: (count) =>
      `${times(count, 'part')} of a form: most programs remove forms or do not send them. Link to a page with the form.`,
  },
  {
    id: 'frame',
    selector: 'iframe, frame, object, embed, applet',
    explain: (count) => `${times(count, 'frame')}: mail programs remove embedded pages. Link to the page.`,
  },
  {
    id: 'video',
    selector: 'video, audio, canvas',
    explain: (count) =>
      `${times(count, 'video or audio', 'videos or audios')}: most programs do not play them. Show an image that links to the video.`,
  },
  {
    id: 'svg',
    selector: 'svg, img[src$=".svg" i], img[src*=".svg?" i]',
    explain: (count) => `${times(count, 'SVG image')}: Gmail and Outlook do not show SVG. Use PNG or JPEG.`,
  },
  {
    id: 'data',
    selector: '[src^="data:" i], [background^="data:" i]',
    explain: (count) =>
      `${times(count, 'image')} inside the HTML (data:): Gmail and Outlook do not show them. Put the image on the web.`,
  },
  {
    id: 'stylesheet',
    selector: 'link[rel~="stylesheet" i]',
    explain: (count) =>
      `${times(count, 'linked stylesheet')}: mail programs do not load stylesheets. Write the styles at the elements.`,
  },
  {
    id: 'relative',
    selector: 'img[src]:not([src*=":"]):not([src^="{{"])',
    explain: (count) => `${times(count, 'image')} without a complete address: the address must begin with https://.`,
  },
  {
    id: 'alt',
    selector: 'img:not([alt])',
    explain: (count) =>
      `${times(count, 'image')} without a description: many programs do not load images at first, and screen readers read the description.`,
  },
]

const STYLED: readonly { readonly id: string; readonly form: RegExp; readonly text: string }[] = [
  {
    id: 'position',
    form: /\bposition\s{0,9}:\s{0,9}(?:absolute|fixed|relative|sticky)/i,
    text: 'position: Gmail and Outlook ignore it, so parts may lie over each other or elsewhere. Use tables or blocks.',
  },
  {
    id: 'background',
    form: /\bbackground(?:-image)?\s{0,9}:[^;:"]{0,200}url\(/i,
    text: 'Background images: Outlook for Windows does not show them. Choose a background color under which the text stays readable.',
  },
  {
    id: 'layout',
    form: /\bdisplay\s{0,9}:\s{0,9}(?:inline-)?(?:flex|grid)\b/i,
    text: 'flex or grid: Outlook for Windows does not know them. Use tables or the block with two columns.',
  },
  {
    id: 'animation',
    form: /@keyframes|\banimation\s{0,9}:/i,
    text: 'Animations: only Apple Mail shows them.',
  },
]

/** `html` is the mail with its variables filled in. */
export function findConcerns(html: string): readonly Concern[] {
  const page = parseHtml(html)
  const found = rules.flatMap(({ id, selector, explain }) => {
    const { length } = page.querySelectorAll(selector)
    return length === 0 ? [] : [{ id, text: explain(length) }]
  })
  const styles = [...page.querySelectorAll('x-style')].map(({ textContent }) => textContent ?? '')
  const inline = [...page.querySelectorAll('[data-style]')].map((element) => element.getAttribute('data-style') ?? '')
  const all = [...styles, ...inline].join('\n')
  const styled = STYLED.filter(({ form }) => form.test(all)).map(({ id, text }) => ({ id, text }))
  return [...findClipped(html), ...found, ...styled]
}

function findClipped(html: string): readonly Concern[] {
  const { size } = new Blob([html])
  if (size <= CLIPPED_AT) return []
  const kilobytes = Math.ceil(size / 1_024)
  return [
    {
      id: 'clipped',
      text: `The HTML has ${kilobytes} KB. Gmail cuts mails off after 102 KB, with the link to unsubscribe at the end. Shorten it.`,
    },
  ]
}
