import type { Locator, Page } from 'playwright-core'
import { chooseInCombobox } from './combobox.ts'

/** Counts what a user does for a task: clicks, fields that are typed, and commands in a terminal. */

export interface TaskCost {
  readonly task: string
  clicks: number
  fields: number
  commands: number
  seconds: number
}

export class TaskMeter {
  readonly costs: TaskCost[] = []
  #current: TaskCost | undefined

  /** Measures one task. */
  async measure<T>(task: string, work: () => Promise<T>): Promise<T> {
    const cost: TaskCost = { task, clicks: 0, fields: 0, commands: 0, seconds: 0 }
    this.#current = cost
    const start = Date.now()
    try {
      return await work()
    } finally {
      cost.seconds = (Date.now() - start) / 1000
      this.costs.push(cost)
      this.#current = undefined
    }
  }

  async click(target: Locator): Promise<void> {
    await target.click()
    this.#add('clicks')
  }

  async type(target: Locator, text: string): Promise<void> {
    await target.fill(text)
    this.#add('fields')
  }

  /** Types a part of a name in a combobox, and clicks the choice. */
  async choose(page: Page, label: string, text: string, option: RegExp): Promise<void> {
    await chooseInCombobox(page, label, text, option)
    this.#add('fields')
    this.#add('clicks')
  }

  /** A command of a terminal, which the console shows. */
  async run<T>(command: () => Promise<T>): Promise<T> {
    this.#add('commands')
    return command()
  }

  #add(kind: 'clicks' | 'fields' | 'commands'): void {
    if (this.#current === undefined) throw new Error('no task is measured')
    this.#current[kind] += 1
  }
}
