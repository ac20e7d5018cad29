/**
 * Keeps the focus near its place when the page takes away the element that has it, such as a button whose act is done
 * or a form whose answer is shown in its place. The browser would give the focus to the body, from where a keyboard
 * begins at the top of the page. Parts that choose a better place themselves are left alone.
 */

interface LastPlace {
  readonly element: Element
  /** Its ancestors from the nearest outwards. They are kept because a removed element has lost them. */
  readonly around: readonly Element[]
}

/** Returns what stops the keeping. */
export function keepFocus(): () => void {
  let last: LastPlace | null = null
  const remember = (): void => {
    last = toPlace(document.activeElement)
  }
  const observer = new MutationObserver((changes) => {
    if (last === null || last.element.isConnected) return
    const { around } = last
    last = null
    const added = changes.flatMap(({ addedNodes }) => [...addedNodes])
    // A dialog that closes and a page that opens choose a place after they have changed.
    setTimeout(() => {
      if (document.activeElement === document.body) focusNear(around, added)
    })
  })
  observer.observe(document.body, { childList: true, subtree: true })
  // A click beside all that takes the focus gives it up.
  for (const event of events) document.addEventListener(event, remember)
  return () => {
    observer.disconnect()
    for (const event of events) document.removeEventListener(event, remember)
  }
}

const events = ['focusin', 'click'] as const

function toPlace(element: Element | null): LastPlace | null {
  if (element === null || element === document.body) return null
  const around: Element[] = []
  for (let at = element.parentElement; at !== null && at !== document.body; at = at.parentElement) around.push(at)
  return { element, around }
}

/** Chooses what stands in the old place, or the heading of the nearest part that is left. */
function focusNear(around: readonly Element[], added: readonly Node[]): void {
  const left = around.filter((one) => one.isConnected)
  const [nearest] = left
  const isIn = (node: Node): node is Element => node instanceof Element && nearest?.contains(node) === true
  const target =
    findFirst(added.filter(isIn), 'h1, h2, h3, a[href], button, input, select, textarea') ??
    findFirst(left, 'h1, h2, h3') ??
    document.querySelector('h1')
  if (!(target instanceof HTMLElement)) return
  if (target.matches('h1, h2, h3')) target.tabIndex = -1
  target.focus()
}

function findFirst(parts: readonly Element[], selector: string): Element | null {
  for (const part of parts) {
    const found = part.matches(selector) ? part : part.querySelector(selector)
    if (found !== null) return found
  }
  return null
}
