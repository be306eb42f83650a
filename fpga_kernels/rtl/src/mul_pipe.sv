// SPDX-License-Identifier: Apache-2.0
// A product in DSPs, cut so finely that no stage is deep.
//
// One factor is cut into digits of 26 bits and the other into digits of 17, since a DSP multiplies
// 27 by 18 bits with a sign. Each digit of the first goes down a chain of the digits of the
// second: a stage adds its product to what the stage before leaves above its own 17 bits. The
// chains are added up at the end, 32 bits a stage. Products above P_WIDTH are left out by the
// tools, since nothing reads them.
//
// It does not wait: what comes in leaves LATENCY cycles later, whatever happens. Whoever uses it
// sends along what belongs to the factors, in `tag_i`, and has room for what comes out.
//
// Throughput: a product a cycle. Latency: one cycle for the factors, one more than second digits,
// one for the third addend, and one for each 32 bits of the product. Reset: none, it has no state.
//
// Parameters: A_WIDTH (at most 78), B_WIDTH, P_WIDTH (the low bits of the product that are
// wanted), IS_SIGNED, TAG_WIDTH.
module mul_pipe #(
  parameter int unsigned A_WIDTH = 64,
  parameter int unsigned B_WIDTH = 64,
  parameter int unsigned P_WIDTH = 64,
  parameter bit IS_SIGNED = 1'b0,
  parameter int unsigned TAG_WIDTH = 1
) (
  input  logic                 clk_i,
  input  logic [A_WIDTH-1:0]   a_i,
  input  logic [B_WIDTH-1:0]   b_i,
  input  logic [TAG_WIDTH-1:0] tag_i,
  output logic [P_WIDTH-1:0]   product_o,
  output logic [TAG_WIDTH-1:0] tag_o
);
  localparam int unsigned A_DIGIT = 26;
  localparam int unsigned B_DIGIT = 17;
  localparam int unsigned A_DIGITS = (A_WIDTH + A_DIGIT - 1) / A_DIGIT;
  localparam int unsigned B_DIGITS = (B_WIDTH + B_DIGIT - 1) / B_DIGIT;
  localparam int unsigned ADDENDS = 3;
  // Bits of a chain's value: a digit of one factor times all of the other.
  localparam int unsigned CHAIN_WIDTH = A_DIGIT + 1 + B_DIGITS * B_DIGIT;
  localparam int unsigned LAST_WIDTH = CHAIN_WIDTH - (B_DIGITS - 1) * B_DIGIT;
  localparam int unsigned ACCUMULATOR = A_DIGIT + B_DIGIT + 3;
  // The factors with whole digits.
  localparam int unsigned A_WHOLE = A_DIGITS * A_DIGIT;
  localparam int unsigned B_WHOLE = B_DIGITS * B_DIGIT;

  logic [A_WHOLE-1:0] a_q;
  logic [B_WHOLE-1:0] b_q;
  always_ff @(posedge clk_i) begin
    a_q <= A_WHOLE'(a_i);
    b_q <= B_WHOLE'(b_i);
    if (IS_SIGNED) begin
      a_q <= {{(A_WHOLE - A_WIDTH + 1){a_i[A_WIDTH-1]}}, a_i[A_WIDTH-2:0]};
      b_q <= {{(B_WHOLE - B_WIDTH + 1){b_i[B_WIDTH-1]}}, b_i[B_WIDTH-2:0]};
    end
  end

  // The values of the chains, each moved to where its digit stands.
  logic [ADDENDS-1:0][P_WIDTH-1:0] addend;

  for (genvar i = 0; i < ADDENDS; i++) begin : gen_chain
    if (i < A_DIGITS) begin : gen_digit
      logic [CHAIN_WIDTH-1:0] value;
      // Bit 26 is the sign of the highest digit, and 0 of the others.
      localparam bit A_SIGN = IS_SIGNED && i == A_DIGITS - 1;
      logic signed [A_DIGIT:0] digit;
      assign digit = {A_SIGN && a_q[i * A_DIGIT + A_DIGIT - 1], a_q[i * A_DIGIT +: A_DIGIT]};

      for (genvar j = 0; j < B_DIGITS; j++) begin : gen_stage
        localparam bit B_SIGN = IS_SIGNED && j == B_DIGITS - 1;
        // Both digits wait for the stages before.
        logic signed [A_DIGIT:0] a_here;
        logic signed [B_DIGIT:0] b_here;
        logic [B_DIGIT-1:0] b_digit;
        delay #(.WIDTH(B_DIGIT), .CYCLES(j)) i_wait (
          .clk_i, .data_i(b_q[j * B_DIGIT +: B_DIGIT]), .data_o(b_digit)
        );
        delay #(.WIDTH(A_DIGIT + 1), .CYCLES(j)) i_wait_digit (
          .clk_i, .data_i(digit), .data_o(a_here)
        );
        assign b_here = {B_SIGN && b_digit[B_DIGIT-1], b_digit};

        logic signed [A_DIGIT+B_DIGIT+1:0] product_q;
        // The highest chain ends below the accumulator's width.
        /* verilator lint_off UNUSEDSIGNAL */
        logic signed [ACCUMULATOR-1:0] sum_q;
        /* verilator lint_on UNUSEDSIGNAL */
        always_ff @(posedge clk_i) product_q <= a_here * b_here;
        if (j == 0) begin : gen_first
          always_ff @(posedge clk_i) sum_q <= ACCUMULATOR'(product_q);
        end else begin : gen_next
          always_ff @(posedge clk_i) begin
            sum_q <= ACCUMULATOR'(product_q) + (gen_stage[j-1].sum_q >>> B_DIGIT);
          end
        end
        if (j == B_DIGITS - 1) begin : gen_last
          assign value[CHAIN_WIDTH-1:j*B_DIGIT] = sum_q[LAST_WIDTH-1:0];
        end else begin : gen_low
          delay #(.WIDTH(B_DIGIT), .CYCLES(B_DIGITS - 1 - j)) i_wait_low (
            .clk_i, .data_i(sum_q[B_DIGIT-1:0]), .data_o(value[j*B_DIGIT +: B_DIGIT])
          );
        end
      end

      // What is above the wanted bits is left out.
      /* verilator lint_off UNUSEDSIGNAL */
      logic [P_WIDTH+CHAIN_WIDTH-1:0] moved;
      /* verilator lint_on UNUSEDSIGNAL */
      assign moved = {{P_WIDTH{IS_SIGNED && value[CHAIN_WIDTH-1]}}, value} << (i * A_DIGIT);
      assign addend[i] = moved[P_WIDTH-1:0];
    end else begin : gen_none
      assign addend[i] = '0;
    end
  end

  // Three addends become two, and these are added from below.
  localparam int unsigned SEGMENT = 32;
  localparam int unsigned SEGMENTS = (P_WIDTH + SEGMENT - 1) / SEGMENT;
  localparam int unsigned WHOLE = SEGMENTS * SEGMENT;
  logic [P_WIDTH-1:0] partial, carries;
  assign partial = addend[0] ^ addend[1] ^ addend[2];
  assign carries = (addend[0] & addend[1]) | (addend[0] & addend[2]) | (addend[1] & addend[2]);
  logic [WHOLE-1:0] partial_q, carries_q;
  always_ff @(posedge clk_i) begin
    partial_q <= WHOLE'(partial);
    carries_q <= WHOLE'(carries) << 1;
  end

  // The last segment may be wider than what is wanted of it.
  /* verilator lint_off UNUSEDSIGNAL */
  logic [WHOLE-1:0] product;
  /* verilator lint_on UNUSEDSIGNAL */
  for (genvar s = 0; s < SEGMENTS; s++) begin : gen_segment
    logic [SEGMENT-1:0] x, y;
    // The carry out of the highest segment is above the wanted bits.
    /* verilator lint_off UNUSEDSIGNAL */
    logic [SEGMENT:0] sum_q;
    /* verilator lint_on UNUSEDSIGNAL */
    delay #(.WIDTH(SEGMENT), .CYCLES(s)) i_wait_x (
      .clk_i, .data_i(partial_q[s * SEGMENT +: SEGMENT]), .data_o(x)
    );
    delay #(.WIDTH(SEGMENT), .CYCLES(s)) i_wait_y (
      .clk_i, .data_i(carries_q[s * SEGMENT +: SEGMENT]), .data_o(y)
    );
    if (s == 0) begin : gen_lowest
      always_ff @(posedge clk_i) sum_q <= {1'b0, x} + {1'b0, y};
    end else begin : gen_higher
      always_ff @(posedge clk_i) begin
        sum_q <= {1'b0, x} + {1'b0, y} + (SEGMENT + 1)'(gen_segment[s-1].sum_q[SEGMENT]);
      end
    end
    delay #(.WIDTH(SEGMENT), .CYCLES(SEGMENTS - 1 - s)) i_wait_sum (
      .clk_i, .data_i(sum_q[SEGMENT-1:0]), .data_o(product[s * SEGMENT +: SEGMENT])
    );
  end
  assign product_o = product[P_WIDTH-1:0];

  localparam int unsigned LATENCY = 1 + B_DIGITS + 1 + 1 + SEGMENTS;
  delay #(.WIDTH(TAG_WIDTH), .CYCLES(LATENCY)) i_tag (.clk_i, .data_i(tag_i), .data_o(tag_o));
endmodule
