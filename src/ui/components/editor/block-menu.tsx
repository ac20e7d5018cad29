/** The menu of blocks at the cursor. Arrow keys and the first letters of a label move in it, and Escape closes it. */
import type { VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { BlockKind, Place } from './mail-document.ts'

interface Choice {
  readonly kind: BlockKind
  readonly label: string
  readonly hint: string
}

const choices: readonly Choice[] = [
  { kind: 'paragraph', label: 'Text', hint: 'A paragraph' },
  { kind: 'heading', label: 'Heading', hint: 'A title or a line above a part' },
  { kind: 'bullet_list', label: 'List with bullets', hint: 'One point after the other' },
  { kind: 'ordered_list', label: 'List with numbers', hint: 'Steps' },
  { kind: 'button', label: 'Button', hint: 'A link that stands out' },
  { kind: 'image', label: 'Image', hint: 'From an address on the web' },
  { kind: 'divider', label: 'Divider', hint: 'A line between parts' },
  { kind: 'spacer', label: 'Space', hint: 'Room between parts' },
  { kind: 'columns', label: 'Two columns', hint: 'Side by side, one below the other on phones' },
  { kind: 'html', label: 'HTML', hint: 'Your own, kept as it is' },
]

/** Milliseconds between two letters of one word. */
const TYPING_PAUSE = 1_000

interface BlockMenuProps {
  readonly place: Place
  readonly onChoose: (kind: BlockKind) => void
  readonly onClose: () => void
}

export function BlockMenu({ place, onChoose, onClose }: BlockMenuProps): VNode {
  const menu = useRef<HTMLDivElement>(null)
  const typed = useRef({ text: '', at: 0 })
  useLayoutEffect(() => {
    if (menu.current === null) return
    putAt(menu.current, place)
    menu.current.querySelector('button')?.focus({ preventScroll: true })
  }, [])
  const move = (event: KeyboardEvent): void => {
    const items = [...(menu.current?.querySelectorAll('button') ?? [])]
    const at = items.findIndex((item) => item.matches(':focus'))
    if (event.key === 'Escape' || event.key === 'Tab') {
      event.preventDefault()
      onClose()
      return
    }
    const isSoon = event.timeStamp - typed.current.at < TYPING_PAUSE
    typed.current = { text: isSoon ? typed.current.text + event.key : event.key, at: event.timeStamp }
    const target = findTarget(event.key, at, typed.current.text)
    if (target === undefined) return
    event.preventDefault()
    items[target]?.focus()
  }
  const leave = (event: FocusEvent): void => {
    const to = event.relatedTarget
    if (!(to instanceof Node && menu.current?.contains(to))) onClose()
  }
  return (
    <div ref={menu} class="mail-menu" role="menu" aria-label="Blocks" tabIndex={-1} onKeyDown={move} onFocusOut={leave}>
      {choices.map(({ kind, label, hint }) => (
        <button key={kind} type="button" role="menuitem" tabIndex={-1} onClick={() => onChoose(kind)}>
          <span>{label}</span>
          <span class="mail-menu-hint">{hint}</span>
        </button>
      ))}
    </div>
  )
}

/** The choice to which a key moves: by arrows, or by the beginning of its label, which was typed letter by letter. */
function findTarget(key: string, at: number, typed: string): number | undefined {
  const count = choices.length
  const to = { ArrowDown: at + 1, ArrowUp: at - 1 + count, Home: 0, End: count - 1 }[key]
  if (to !== undefined) return to % count
  if (key.length !== 1 || key === ' ') return undefined
  // The same letter again leads to the next label that begins with it.
  const isOneLetter = new Set(typed.toLowerCase()).size === 1
  const beginning = (isOneLetter ? key : typed).toLowerCase()
  const order = choices.map((_, step) => (at + (isOneLetter ? 1 : 0) + step) % count)
  return order.find((place) => choices[place]?.label.toLowerCase().startsWith(beginning) === true)
}

/** Pixels between the menu and the edges of the window. */
const MARGIN = 8
/** Pixels of the line that the menu must not cover when it stands above it. */
const LINE = 36

function putAt(menu: HTMLElement, { left, top }: Place): void {
  const { offsetWidth: width, offsetHeight: height } = menu
  const right = Math.max(MARGIN, window.innerWidth - width - MARGIN)
  menu.style.left = `${Math.min(Math.max(MARGIN, left), right)}px`
  const fitsBelow = top + height + MARGIN <= window.innerHeight
  menu.style.top = `${Math.max(MARGIN, fitsBelow ? top : top - LINE - height)}px`
}
