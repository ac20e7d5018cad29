/** The icons of the tool bar, as lines in the color of the text. Screen readers read the labels of the buttons. */
import type { VNode } from 'preact'

/** Lines of an icon, in a square of 16 units. */
const lines = {
  plus: 'M8 3v10M3 8h10',
  braces:
    'M6 2.5C4 2.5 4 4 4 5.5S4 8 2.5 8C4 8 4 9 4 10.5S4 13.5 6 13.5M10 2.5c2 0 2 1.5 2 3S12 8 13.5 8C12 8 12 9 12 10.5s0 3-2 3',
  bullets: 'M6.5 4h7M6.5 8h7M6.5 12h7M2.5 4h1M2.5 8h1M2.5 12h1',
  numbers: 'M7 4h6.5M7 8h6.5M7 12h6.5M2.5 3l1-.5V6M2 9.5c1.5-1 2.5 0 1.5 1.2L2 13h2.5',
  link: 'M6.7 9.3 9.3 6.7M7.5 4.5 9 3a2.8 2.8 0 0 1 4 4l-1.5 1.5M8.5 11.5 7 13a2.8 2.8 0 0 1-4-4l1.5-1.5',
  left: 'M2.5 4h11M2.5 8h7M2.5 12h9',
  center: 'M2.5 4h11M4.5 8h7M3.5 12h9',
  right: 'M2.5 4h11M6.5 8h7M4.5 12h9',
  pencil: 'M3 13l.6-2.8L10.8 3 13 5.2 5.8 12.4zM9.5 4.3l2.2 2.2',
  up: 'M8 13V3.5M4 7.5l4-4 4 4',
  down: 'M8 3v9.5M4 8.5l4 4 4-4',
  bin: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M7 7v4M9 7v4',
  undo: 'M6 3 3 6l3 3M3.5 6H9a4 4 0 0 1 0 8H6',
  redo: 'M10 3l3 3-3 3M12.5 6H7a4 4 0 0 0 0 8h3',
} as const

export type IconName = keyof typeof lines

export function Icon({ name }: { readonly name: IconName }): VNode {
  return (
    <svg class="mail-icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={lines[name]} />
    </svg>
  )
}
