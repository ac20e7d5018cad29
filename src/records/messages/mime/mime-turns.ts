/**
 * Decides which message gets which parsing process next.
 *
 * Turns go round among the owners of workspaces, and no owner ever has all processes. So an owner who receives messages
 * that take long delays only their own mail. However many messages wait in all, an owner may always add one if none of
 * theirs waits.
 *
 * While no other owner waits, a process that has small messages of an owner gets a few more of them before it has
 * answered, so that it need not wait for this process between two messages.
 */
import { Refusal } from '../../../base/mail/refusal.js'

interface Job<Process> {
  /** Settles the promise of its caller. Resolves to false if the process ended; the job must then run again, alone. */
  readonly run: (process: Process) => Promise<boolean>
  readonly reject: (error: unknown) => void
  /** True if the job takes a process only a moment. */
  readonly isSmall: boolean
}

interface TurnLimits {
  /** The most messages that wait, in all and of one owner. */
  readonly maxWaiting: number
  readonly maxWaitingPerWorkspace: number
}

/** The messages of an owner that a process has. */
interface Turn<Process> {
  readonly process: Process
  readonly owner: string
  jobs: number
  /** True if all messages are small, and the process may have more of them. */
  isOpen: boolean
}

/** The most small messages that a process has at a time. */
const MAX_SMALL_JOBS = 4

export class MimeTurns<Process> {
  private readonly idleProcesses: Process[]
  private readonly turns = new Set<Turn<Process>>()
  /** The waiting jobs by owner, in the order of their turns. No queue is empty. */
  private readonly queues = new Map<string, Job<Process>[]>()
  private waitingCount = 0
  private isClosed = false

  constructor(
    private readonly processes: readonly Process[],
    private readonly limits: TurnLimits,
  ) {
    this.idleProcesses = [...processes]
  }

  /** Throws a Refusal if too many messages wait. */
  add(owner: string, job: Job<Process>): void {
    const queue = this.queues.get(owner) ?? []
    if (this.isClosed) throw buildBusy()
    if (queue.length >= this.limits.maxWaitingPerWorkspace) throw buildTooManyWaiting(queue.length)
    if (queue.length > 0 && this.waitingCount >= this.limits.maxWaiting) throw buildBusy()
    queue.push(job)
    this.queues.set(owner, queue)
    this.waitingCount += 1
    this.startJobs()
  }

  /** Rejects all waiting and all later jobs. */
  close(): void {
    this.isClosed = true
    const left = [...this.queues.values()].flat()
    this.queues.clear()
    this.waitingCount = 0
    for (const { reject } of left) reject(buildBusy())
  }

  private startJobs(): void {
    while (this.startTurn());
    for (const turn of this.turns) while (this.addToTurn(turn));
  }

  private startTurn(): boolean {
    const [process] = this.idleProcesses
    const owner = process === undefined ? undefined : this.nextOwner()
    const job = owner === undefined ? undefined : this.takeJob(owner)
    if (process === undefined || owner === undefined || job === undefined) return false
    this.idleProcesses.shift()
    const turn = { process, owner, jobs: 0, isOpen: job.isSmall }
    this.turns.add(turn)
    void this.runJob(turn, job)
    return true
  }

  private addToTurn(turn: Turn<Process>): boolean {
    const { owner, jobs, isOpen } = turn
    if (!isOpen || jobs >= MAX_SMALL_JOBS || this.queues.size !== 1) return false
    if (this.queues.get(owner)?.[0]?.isSmall !== true) return false
    const job = this.takeJob(owner)
    if (job === undefined) return false
    void this.runJob(turn, job)
    return true
  }

  private nextOwner(): string | undefined {
    for (const owner of this.queues.keys()) if (this.mayStart(owner)) return owner
    return undefined
  }

  private mayStart(owner: string): boolean {
    const own = [...this.turns].filter((turn) => turn.owner === owner)
    return own.length < Math.max(this.processes.length - 1, 1)
  }

  /** Takes the owner's oldest job. The owner then moves to the end of the round. */
  private takeJob(owner: string): Job<Process> | undefined {
    const queue = this.queues.get(owner) ?? []
    const job = queue.shift()
    this.queues.delete(owner)
    if (queue.length > 0) this.queues.set(owner, queue)
    this.waitingCount -= 1
    return job
  }

  private async runJob(turn: Turn<Process>, job: Job<Process>): Promise<void> {
    turn.jobs += 1
    try {
      // This awaits a job even if it settled at once, so that the next job never starts inside the call stack of this
      // one.
      if (!(await job.run(turn.process))) this.putBack(turn, job)
    } catch (error) {
      job.reject(error)
    }
    turn.jobs -= 1
    if (turn.jobs === 0) {
      this.turns.delete(turn)
      this.idleProcesses.unshift(turn.process) // one that runs already is preferred to one that has to be started
    }
    this.startJobs()
  }

  /** Puts the job at the front of its queue. The turn ends when all of its jobs are back. */
  private putBack(turn: Turn<Process>, job: Job<Process>): void {
    turn.isOpen = false
    if (this.isClosed) {
      job.reject(buildBusy())
      return
    }
    const { owner } = turn
    this.queues.set(owner, [{ ...job, isSmall: false }, ...(this.queues.get(owner) ?? [])])
    this.waitingCount += 1
  }
}

/** The refusal of too many messages: the owner caused it, and it ends as soon as their messages are read. */
function buildTooManyWaiting(waiting: number): Refusal {
  const message = `${waiting} messages of this workspace, or of others of its owner, are waiting to be read: try again in 1 s`
  return new Refusal('rate-limited', message, { retry_after: 1 })
}

function buildBusy(): Refusal {
  return new Refusal('unavailable', 'too many messages are being read, try again later')
}
