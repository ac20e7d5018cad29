/**
 * The look of an element as far as its attributes define it: visible or not, size, colours. Only inline styles and
 * presentational attributes; style sheets are not read.
 */

export interface ComputedStyle {
  readonly hidden: boolean
  /** Too small to read. */
  readonly tiny: boolean
  /** 0xrrggbb. Null if it is unknown. */
  readonly color: number | null
  readonly background: number | null
}

export const initialStyle: ComputedStyle = { hidden: false, tiny: false, color: null, background: 0xffffff }

const hidingPattern =
  /(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0?\.?0+(?![\d.])|mso-hide\s*:\s*all|max-height\s*:\s*0(?![.\d]))/
const visiblePattern = /(?:^|[;\s])visibility\s*:\s*visible/
const fontSizePattern = /(?:^|[;\s])font-size\s*:\s*([\d.]{1,8})\s*(px|pt|em|rem|%)?/
const colorPattern = /(?:^|[;\s])color\s*:\s*([^;!]{1,60})/
const backgroundPattern = /(?:^|[;\s])background(?:-color)?\s*:\s*([^;!]{1,60})/

/** The style of an element inside an element with the style `outer`. */
export function computeStyle(outer: ComputedStyle, attributes: ReadonlyMap<string, string>): ComputedStyle {
  if (attributes.size === 0) return outer
  const style = (attributes.get('style') ?? '').toLowerCase()
  const image = attributes.has('background') || /url\s*\(/.test(style)
  return {
    hidden: (outer.hidden && !visiblePattern.test(style)) || hidingPattern.test(style) || attributes.has('hidden'),
    tiny: isTiny(outer.tiny, style),
    color:
      parseColor(colorPattern.exec(style)?.[1] ?? attributes.get('color') ?? attributes.get('text')) ?? outer.color,
    // A background picture may make every colour readable.
    background: image
      ? null
      : (parseColor(backgroundPattern.exec(style)?.[1] ?? attributes.get('bgcolor')) ?? outer.background),
  }
}

/** The text has nearly the colour of its background. */
export function isCamouflaged({ color, background }: ComputedStyle): boolean {
  if (color === null || background === null) return false
  const channelDistance = (shift: number): number => Math.abs(((color >> shift) & 255) - ((background >> shift) & 255))
  return channelDistance(16) + channelDistance(8) + channelDistance(0) < 30
}

function isTiny(outer: boolean, style: string): boolean {
  const size = fontSizePattern.exec(style)
  if (size === null) return outer
  const value = Number(size[1])
  const unit = size[2] ?? 'px'
  if (unit === '%') return value < 15
  return unit === 'em' || unit === 'rem' ? value < 0.15 : value < 3
}

const colorNames: ReadonlyMap<string, number> = new Map([
  ['white', 0xffffff],
  ['black', 0],
  ['red', 0xff0000],
  ['blue', 0x0000ff],
  ['yellow', 0xffff00],
  ['green', 0x008000],
  ['gray', 0x808080],
  ['silver', 0xc0c0c0],
  ['navy', 0x000080],
])

function parseColor(written: string | undefined): number | null {
  if (written === undefined) return null
  const word = written.trim().toLowerCase()
  const named = colorNames.get(word)
  if (named !== undefined) return named
  const rgb = /^rgba?\(\s{0,9}(\d{1,3})\s{0,9}[, ]\s{0,9}(\d{1,3})\s{0,9}[, ]\s{0,9}(\d{1,3})/.exec(word)
  if (rgb !== null) return (Number(rgb[1]) << 16) | (Number(rgb[2]) << 8) | Number(rgb[3])
  const hex = /^#?([0-9a-f]{6}|[0-9a-f]{3})(?![0-9a-f])/.exec(word)?.[1]
  if (hex === undefined) return null
  return Number.parseInt(hex.length === 3 ? hex.replace(/./g, '$&$&') : hex, 16)
}
